import { ProviderFailure } from '../../../platform/provider-failure.ts';
import { mediaProviders } from '../../core/media/models.ts';
import { toProviderFailure } from '../../failures.ts';
import { HttpExchange } from '../../http-exchange.ts';
import { SubmissionLost } from '../media-ports.ts';
import type { HostJob, HostOptions, MediaHost } from './media-host.ts';

/** An error body in the form in which `failures.ts` reads it, whatever form the provider has. */
interface ErrorText {
  code?: string;
  message?: string;
}

/** How a provider words its errors. */
export interface Wording {
  /** @param body JSON, or undefined */
  read(status: number, body: unknown): ErrorText;
  /** Whether the error says that the job was not taken although the status leaves that open. */
  saysNotTaken?(body: unknown): boolean;
}

/** One call to a media provider, as its adapter makes it. */
export interface MediaCall {
  host: Pick<MediaHost, 'provider'>;
  options: HostOptions;
  job: HostJob;
  signal: AbortSignal;
  wording: Wording;
  /** Loads the SDK: the time that it takes is no part of the call. */
  load(): Promise<unknown>;
}

/** Errors before anything was sent: of the DNS, and of connections that never came about. */
const unsentCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|ERR_TLS_\w+)$/;

/** Whether anything of a failed call may have arrived. */
export function wasSent(error: unknown): boolean {
  let at = error as { code?: unknown; cause?: unknown } | undefined;
  for (let depth = 0; at && depth < 8; depth++, at = at.cause as typeof at) {
    if (unsentCodes.test(String(at.code))) return false;
  }
  return true;
}

/** Makes one call, within the time limit. @throws ProviderFailure; the reason of the call's `signal` */
export async function exchange<Result>(
  { host, options, job, signal, wording, load }: MediaCall,
  make: (http: HttpExchange, signal: AbortSignal) => Promise<Result>,
  http = new HttpExchange(),
): Promise<Result> {
  signal.throwIfAborted();
  await load();
  try {
    return await make(http, AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderFailure) throw error;
    const { status, errorBody } = http;
    if (status !== undefined) http.errorBody = { error: wording.read(status, errorBody) };
    throw toProviderFailure(error, {
      provider: mediaProviders[host.provider],
      model: { name: job.model, upstream: job.upstream },
      timeoutMs: options.timeoutMs,
      exchange: http,
      apiKey: options.apiKey,
    });
  }
}

/**
 * Submits a job, once. Only a job that certainly was not taken may be sent again: after 429, a refused connection, and
 * errors that say so. An aborted call, a broken answer and an error of the server leave it open.
 * @throws ProviderFailure; SubmissionLost
 */
export async function submitOnce(
  call: MediaCall,
  make: (http: HttpExchange, signal: AbortSignal) => Promise<string>,
): Promise<string> {
  const http = new HttpExchange();
  let said: unknown;
  const remember: Wording = {
    ...call.wording,
    read(status, body) {
      said = body;
      return call.wording.read(status, body);
    },
  };
  try {
    return await exchange({ ...call, wording: remember }, make, http);
  } catch (error) {
    const title = mediaProviders[call.host.provider];
    const lost = () => new SubmissionLost(`The connection to ${title} broke before it answered.`, { cause: error });
    const { status, broken } = http;
    if (status === undefined) {
      if (broken === undefined || !wasSent(broken)) throw error;
      throw lost();
    }
    const isOpen = status < 300 || status === 408 || (status >= 500 && !call.wording.saysNotTaken?.(said));
    throw isOpen ? lost() : error;
  }
}
