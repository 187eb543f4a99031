import { AppError } from '../platform/errors.ts';

type KeyRefusal = 'missing_api_key' | 'invalid_api_key' | 'expired_api_key';

const refusal = (reason: KeyRefusal, message: string) => new AppError('unauthorized', message, { reason });

// Made once: an error costs as much as the check that it reports.
const refusals: Record<KeyRefusal, AppError> = {
  missing_api_key: refusal('missing_api_key', 'No API key was sent. Send it as "Authorization: Bearer <key>".'),
  invalid_api_key: refusal('invalid_api_key', 'The API key is not valid.'),
  expired_api_key: refusal('expired_api_key', 'The API key has expired.'),
};

/** Why a caller is not accepted. The facts are `{reason}`. */
export const unauthorized = (reason: KeyRefusal): AppError => refusals[reason];
