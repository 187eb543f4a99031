import { AppError, invalid } from '../../../src/platform/errors.ts';
import { exampleId, surfaces } from '../failures.ts';
import { behindKey } from '../headers.ts';

/** The 500 of an operation that waits for a generation. */
export const generationFailure = surfaces.unversioned.response({
  name: 'GenerationFailedError',
  description:
    'The generation failed, or something went wrong on our side. For a failed generation `details` is {generationId, reason}; `reason` is content_policy, invalid_input, provider_error or timeout. When our storage failed, the answer is 503 `service_unavailable`. Nothing is charged.',
  example: new AppError('ai_provider_error', 'The provider refused the content.', {
    generationId: `gen_${exampleId.replaceAll('-', '')}`,
    reason: 'content_policy',
  }),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
});

/** The 400 of an operation that works on an image. */
export const imageFailure = surfaces.unversioned.response({
  name: 'InvalidImageError',
  description:
    'The request is not valid, or its image cannot be fetched or processed. Nothing is charged, and the Idempotency-Key can be used again.',
  example: invalid([{ path: 'imageUrl', message: 'The server of the image answered 404.' }]),
  sometimes: behindKey,
});
