import { createHmac } from 'node:crypto';

const windowMs = 300_000;

/** HMAC-SHA256 of the parts, one after another. */
export function hmacOf(secret: string, encoding: 'hex' | 'base64', ...parts: (string | Buffer)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest(encoding);
}

/**
 * Whether a time is within 300 seconds of now, before or after.
 * @param timestamp digits, as a header has them
 * @param unitMs of the timestamp: 1 for milliseconds, 1,000 for seconds
 */
export const isRecent = (timestamp: string | undefined, unitMs: number, now: number): timestamp is string =>
  timestamp !== undefined && /^\d{1,15}$/.test(timestamp) && Math.abs(Number(timestamp) * unitMs - now) <= windowMs;
