import { callFailed, refused } from '../../../src/voice/errors.ts';
import { failuresOn } from '../../schemas/answers.ts';
import { FailureSurface } from '../../schemas/failures.ts';
import { behindKey } from '../../schemas/headers.ts';
import { voiceEnvelope } from './envelope.ts';

const surface = new FailureSurface({
  prefix: 'Voice',
  isKeyed: true,
  hasDialects: false,
  schema: 'ErrorMessage',
  envelope: voiceEnvelope,
});

/** The failures of an operation of voice: the given ones, and those of every such operation. */
export const voiceRefusals = failuresOn(surface);

/** The 400 and 500 of an operation of voice. */
export const voiceFailures = {
  400: surface.response({
    name: 'VoiceValidationError',
    description: 'The request is not valid. The message is one of those that the operation lists.',
    example: refused('Invalid voice'),
    sometimes: behindKey,
  }),
  500: surface.response({
    name: 'VoiceFailedError',
    description: 'The provider failed, or something went wrong on our side. Nothing is charged.',
    example: callFailed(),
    sometimes: [...behindKey, 'Idempotent-Replayed'],
  }),
};
