import { createHmac, hash, randomBytes } from 'node:crypto';

/** 256 bits in base64url. */
export const tokenPattern = /^[\w-]{43}$/;

export const randomToken = (): string => randomBytes(32).toString('base64url');

/** Only the hash of a token is stored. */
export const hashOfToken = (token: string): Buffer => hash('sha256', token, 'buffer');

/** The token of a mailed invitation. It is derived from its id, so that the mail can be sent after a crash. */
export const tokenOfInvitation = (secret: string, id: string): string =>
  createHmac('sha256', secret).update(`invitation ${id}`).digest('base64url');
