import { AppError } from '../../../src/platform/errors.ts';
import { surfaces } from '../failures.ts';
import { behindKey } from '../headers.ts';

/** The 500 of an operation that a model replies to. */
export const replyFailure = surfaces.chat.response({
  name: 'ReplyFailedError',
  description:
    'The model or its provider failed, or something went wrong on our side. Nothing is charged, even if tools were called.',
  example: new AppError('ai_provider_error', 'The provider refused the content.'),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
});
