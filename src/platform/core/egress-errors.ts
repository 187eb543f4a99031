/**
 * Why a request to a caller's URL got no complete response. These classes are published in delivery logs, so values are
 * only ever added.
 *
 *     forbidden_destination  the destination is not allowed; nothing was sent
 *     invalid_request        the request is not valid HTTP; nothing was sent
 *     dns                    the name has no address, or the DNS did not answer in time
 *     connect                the connection was refused or the host is unreachable
 *     tls                    the TLS handshake failed
 *     timeout                the deadline passed while connecting, waiting or reading
 *     reset                  the connection was closed before the response was complete
 *     malformed_response     the response is not valid HTTP
 *     response_too_large     the headers exceed the limit; a large body is truncated instead
 */
export const egressErrorClasses = [
  'forbidden_destination',
  'invalid_request',
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'malformed_response',
  'response_too_large',
] as const;
export type EgressErrorClass = (typeof egressErrorClasses)[number];
