/**
 * Why a request to an address that a caller chose got no whole answer. Delivery logs show it, so the list only grows.
 *
 *     forbidden_destination  the rules do not let requests go there; nothing was sent
 *     invalid_request        what was to be sent is not valid HTTP; nothing was sent
 *     dns                    the name has no address, or nobody said in time
 *     connect                refused or unreachable
 *     tls                    connected, but no secure connection came of it
 *     timeout                the deadline passed: while connecting, waiting or reading
 *     reset                  the other side hung up before its answer was whole
 *     malformed_response     the answer is not HTTP
 *     response_too_large     its headers are larger than is read; a body is cut instead
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
