/** Names and values of HTTP headers (RFC 9110, 5.1 and 5.5). */
export const headerNamePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
export const headerValuePattern = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of a request that the connection sets itself, in lower case. Responses are requested without an encoding. */
export const connectionHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
