import { z } from 'zod';
import { AccessTokenRefused, AuthExpired } from '../../connections/index.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { Account } from '../calls/provider-call.ts';

/** Limit on identifying the connected account. */
export const accountMs = 10_000;

const maxIdLength = 320;
const maxNameLength = 320;
const maxDetailLength = 2_000;
const maxDetails = 20;

// Refuses what PostgreSQL cannot store, and control characters.
const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value));
const accountSchema = z.object({
  id: text(maxIdLength).min(1),
  name: z.string().transform((name) =>
    name
      .toWellFormed()
      .replace(/\p{Cc}/gu, ' ')
      .slice(0, maxNameLength)
      .toWellFormed(),
  ),
  details: z
    .record(z.string().max(40), text(maxDetailLength))
    .refine((details) => Object.keys(details).length <= maxDetails),
});

/** An account in its stored form. @throws ZodError for an implausible account */
export const storedAccount = (account: Account): Account => accountSchema.parse(account);

/** Whether the limit on all requests together was exceeded. */
export const isOutOfTime = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError';

/** Whether the provider, and not an error of our own, is the reason why an account could not be identified. */
export const isProvidersFault = (error: unknown): boolean =>
  isOutOfTime(error) ||
  [IntegrationFailure, AuthExpired, AccessTokenRefused, z.ZodError].some((kind) => error instanceof kind);
