import { randomUUID } from 'node:crypto';

const correlationPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/**
 * The ids of a request: a fresh one, and that of the operation it is part of, which the caller may choose.
 * @param given x-correlation-id; a malformed one is replaced
 */
export const requestIds = (given: string | undefined): { requestId: string; correlationId: string } => ({
  requestId: randomUUID(),
  correlationId: given && correlationPattern.test(given) ? given : randomUUID(),
});
