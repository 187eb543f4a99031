/**
 * The request of a message for the protocol's server, which gets its body apart. The server listens to the signal of its
 * request, and its listener keeps the request. On the signal of `request` such a listener would never go: Node keeps that
 * signal until the request that follows it is collected, and here that one would be kept by the signal, with everything
 * that the message was answered with.
 */
export const ownRequest = ({ url, method, headers, signal }: Request): Request =>
  new Request(url, { method, headers, signal });
