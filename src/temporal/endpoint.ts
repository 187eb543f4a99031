import { readFileSync } from 'node:fs';
import type { TLSConfig } from '@temporalio/client';
import { EnvError } from '../platform/env.ts';

/** How to reach a Temporal server, in the form that the SDK's connections take. */
export interface TemporalEndpoint {
  /** host:port */
  address: string;
  /** Absent: without TLS, unless there is an API key, which the SDK sends over TLS alone. */
  tls?: TLSConfig | boolean;
  apiKey?: string;
}

/** The variables that name a Temporal server. */
interface TemporalVariables {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_TLS?: string | undefined;
  TEMPORAL_API_KEY?: string | undefined;
}

/**
 * The server of `TEMPORAL_ADDRESS`, with its certificates read from their files.
 * @throws EnvError when a file of `TEMPORAL_TLS` cannot be read
 */
export function temporalEndpoint(variables: TemporalVariables): TemporalEndpoint {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_TLS: tls, TEMPORAL_API_KEY: apiKey } = variables;
  return { address, ...(tls && { tls: readTls(tls) }), ...(apiKey && { apiKey }) };
}

/** @param tls `true`, `false`, or paths: the CA's certificate, or CA, client certificate and client key */
function readTls(tls: string): TLSConfig | boolean {
  if (tls === 'true' || tls === 'false') return tls === 'true';
  const [authority, certificate, key] = tls.split(',').map((path) => path.trim());
  return {
    ...(authority && { serverRootCACertificate: readPem(authority) }),
    ...(certificate && key && { clientCertPair: { crt: readPem(certificate), key: readPem(key) } }),
  };
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new EnvError(`The environment is invalid:\n  TEMPORAL_TLS: the file ${path} cannot be read (${code})`);
  }
}
