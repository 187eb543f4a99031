import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { falEndpoints } from './fal-endpoints.ts';
import { type FakeJob, type FakeMedia, type MediaDialect, readsWithoutFile, startMediaServer } from './media-server.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** An error of a model, as fal words it. */
export const falError = (
  status: number,
  type: string,
  msg: string,
  loc: (string | number)[] = ['body'],
): WireAnswer => ({
  status,
  headers: { 'x-fal-retryable': 'false', 'x-fal-request-id': randomUUID() },
  body: { detail: [{ loc, msg, type, url: `https://docs.fal.ai/errors/#${type}` }] },
});

/** An error of fal around the model. */
export const falOwnError = (status: number, errorType: string): WireAnswer => ({
  status,
  headers: { 'x-fal-error-type': errorType },
  body: { detail: 'Something went wrong.', error_type: errorType },
});

/** Owner and application: what follows them is left out of every address but the submit's. */
const applicationOf = (endpoint: string) => endpoint.split('/').slice(0, 2).join('/');

function refuse(endpoint: string, body: Json | undefined): WireAnswer | undefined {
  const model = falEndpoints[endpoint];
  if (!model) return { status: 404, body: { detail: `Application '${applicationOf(endpoint)}' not found` } };
  if (typeof body !== 'object') return falError(422, 'json_invalid', 'JSON decode error');
  for (const name of model.required) {
    if (body[name] === undefined) return falError(422, 'missing', 'Field required', ['body', name]);
  }
  for (const [name, value] of Object.entries(body)) {
    const isValid = model.fields[name];
    // fal ignores what it does not know; a mapping that sends it is wrong all the same.
    if (!isValid) return falError(422, 'extra_forbidden', 'Extra inputs are not permitted', ['body', name]);
    if (!isValid(value)) return falError(422, 'value_error', 'Input is not valid', ['body', name]);
  }
  return undefined;
}

/** fal's queue, its keys and its reports. `X-Fal-Webhook-User-Id` is always the same. */
export async function startFakeFal(
  apiKey = 'fal-key-id:fal-secret-0123456789',
): Promise<FakeMedia & { keysUrl: string }> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const keysPath = '/.well-known/jwks.json';
  const standing = ({ state, wish }: FakeJob) =>
    state !== 'working' ? 'COMPLETED' : (wish.takesMs ?? 0) === Number.POSITIVE_INFINITY ? 'IN_QUEUE' : 'IN_PROGRESS';

  const answerOf = (job: FakeJob, url: string): WireAnswer => {
    const { fail } = job.wish;
    if (typeof fail === 'object') return fail;
    if (typeof fail === 'string') return falError(422, fail, 'The model failed.');
    return { status: 200, body: falEndpoints[job.endpoint]!.output(job.input, url) };
  };

  const dialect: MediaDialect = {
    keyOf: ({ authorization }) => /^Key (.+)$/.exec(authorization ?? '')?.[1],
    notFound: { status: 404, body: { detail: 'Request not found' } },
    wrongKey: { status: 401, body: { detail: 'Cannot access application. Authentication is required.' } },
    newId: randomUUID,

    route(method, { pathname, searchParams }, body) {
      if (method === 'GET' && pathname === keysPath) {
        const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'EdDSA' };
        return { kind: 'open', answer: { status: 200, body: { keys: [key] } } };
      }
      const [, id, action] = /^\/[\w.-]+\/[\w.-]+\/requests\/([\w-]+)(?:\/(status|cancel))?$/.exec(pathname) ?? [];
      if (id !== undefined && method === 'PUT' && action === 'cancel') return { kind: 'cancel', id };
      if (id !== undefined && method === 'GET' && action !== 'cancel')
        return { kind: action ? 'status' : 'result', id };
      if (method !== 'POST') return undefined;
      const endpoint = pathname.slice(1);
      return {
        kind: 'submit',
        endpoint,
        webhook: searchParams.get('fal_webhook'),
        refused: refuse(endpoint, body as Json | undefined),
      };
    },

    accepted({ id, endpoint }) {
      // Addresses of another host: a client that follows them sends the key elsewhere.
      const base = `https://queue.invalid/${applicationOf(endpoint)}/requests/${id}`;
      return {
        status: 200,
        body: {
          status: 'IN_QUEUE',
          request_id: id,
          gateway_request_id: id,
          queue_position: 0,
          response_url: base,
          status_url: `${base}/status`,
          cancel_url: `${base}/cancel`,
        },
      };
    },

    status(job) {
      const status = standing(job);
      const { id: request_id } = job;
      return { status: status === 'COMPLETED' ? 200 : 202, body: { status, request_id, metrics: {} } };
    },

    result(job, url) {
      if (job.state === 'working') return { status: 400, body: { detail: 'Request is still in progress' } };
      return readsWithoutFile(job) ? { status: 200, body: { images: [] } } : answerOf(job, url);
    },

    cancelled: ({ state }) =>
      state === 'working'
        ? { status: 202, body: { status: 'CANCELLATION_REQUESTED' } }
        : { status: 400, body: { status: 'ALREADY_COMPLETED' } },

    makeFile: ({ endpoint, input }) => falEndpoints[endpoint]!.makeFile(input),

    report(job, url) {
      const { status, body: payload } = answerOf(job, url);
      const { id: request_id } = job;
      const isOk = status === 200;
      const body = JSON.stringify({
        request_id,
        gateway_request_id: request_id,
        status: isOk ? 'OK' : 'ERROR',
        payload,
        ...(!isOk && { error: 'Unexpected status code' }),
      });
      return { headers: { 'content-type': 'application/json', ...signed(request_id, body) }, body };
    },
  };

  function signed(requestId: string, body: string): Record<string, string> {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const hash = createHash('sha256').update(body).digest('hex');
    const text = Buffer.from([requestId, 'user-1', timestamp, hash].join('\n'));
    return {
      'x-fal-webhook-request-id': requestId,
      'x-fal-webhook-user-id': 'user-1',
      'x-fal-webhook-timestamp': timestamp,
      'x-fal-webhook-signature': sign(null, text, privateKey).toString('hex'),
    };
  }

  const fake = await startMediaServer(dialect, apiKey);
  return Object.assign(fake, { keysUrl: fake.origin + keysPath });
}
