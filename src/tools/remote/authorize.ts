import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { clock } from '../../platform/clock.ts';
import { readJson } from '../../platform/core/bounded-json.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { StoredConfiguration } from '../configurations.ts';
import type { ToolServer } from '../servers/server.ts';
import { ToolFailure } from '../tool.ts';
import type { Authorize } from './egress-fetch.ts';

const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** SHA-256 in the form that the signer wants. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined
        ? createHash('sha256')
        : createHmac('sha256', typeof secret === 'string' ? secret : Buffer.from(secret as Uint8Array));
  }

  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error('A digest is made once.');
  }
}

/** Requests to AWS's own server are signed with Signature Version 4. */
function signForAws({ values, secrets }: StoredConfiguration): Authorize {
  const signer = new SignatureV4({
    service: 'aws-mcp',
    region: values.region ?? 'us-east-1',
    credentials: {
      accessKeyId: secrets.accessKeyId!,
      secretAccessKey: secrets.secretAccessKey!,
      ...(secrets.sessionToken !== undefined && { sessionToken: secrets.sessionToken }),
    },
    sha256: Sha256 as never,
  });
  return async ({ method, url, headers, body }) => {
    const signed = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { ...headers, host: url.host },
      body,
    });
    const { host: _, ...sent } = signed.headers;
    return sent;
  };
}

const tokenUrl = 'https://oauth2.googleapis.com/token';
const refreshMs = 10_000;
const maxTokenBytes = 64 * 1024;
/** A token is replaced so long before its end. */
const marginMs = 60_000;

/** Access tokens of Google, from a refresh token and the client that it was issued to. */
function refreshGoogle(
  { values, secrets }: StoredConfiguration,
  egress: Pick<Egress, 'request'>,
  url = tokenUrl,
): Authorize {
  let known: { token: string; until: number } | undefined;
  const refresh = async () => {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: secrets.refreshToken!,
      client_id: values.clientId!,
      client_secret: secrets.clientSecret!,
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    const limits = { deadlineMs: refreshMs, maxResponseBytes: maxTokenBytes };
    const { status, body } = await egress.request({ url, method: 'POST', headers, body: form.toString(), ...limits });
    if (status !== 200) throw new ToolFailure('Google refused the refresh token.');
    const { access_token: token, expires_in: seconds } = Object(readJson(body, maxTokenBytes));
    if (typeof token !== 'string') throw new ToolFailure('Google gave no access token.');
    return { token, until: clock.now() + (Number(seconds) || 0) * 1_000 - marginMs };
  };
  return async () => {
    if (!known || known.until <= clock.now()) known = await refresh();
    return bearer(known.token);
  };
}

/** How requests to a server are authorized. A server at an address of the organization gets only its `token`. */
export function authorization(
  { live }: ToolServer,
  configuration: StoredConfiguration,
  egress: Pick<Egress, 'request'>,
): Authorize {
  const { url, secrets } = configuration;
  const how = live.kind === 'remote' ? live.authorize : { bearer: 'token' };
  if (url !== null) return async () => bearer(secrets.token);
  if (how === 'aws') return signForAws(configuration);
  if (how === 'google') return refreshGoogle(configuration, egress);
  return async () => bearer(secrets[how.bearer]);
}
