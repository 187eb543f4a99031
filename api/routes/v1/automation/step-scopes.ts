import { type Step, stepsIn } from '../../../../src/automation/core/step-types.ts';
import type { ApiContext } from '../../../context.ts';
import { checkScopes } from '../../../middleware/authenticate.ts';

/** Steps of features do what a request of the key that saves them may do, and no more. */
const scopesOfSteps: Partial<Record<Step['type'], string>> = {
  action: 'integrations',
  image: 'studio',
  upscale: 'studio',
  remove_bg: 'studio',
  video: 'studio',
  music: 'studio',
  speech: 'voice',
  transcription: 'voice',
  booking: 'scheduling',
};

/** @throws AppError forbidden unless the key that saves steps may use the features that they use, in whatever list they stand */
export function checkStepScopes(c: ApiContext, steps: readonly Step[] = []): void {
  for (const { type } of stepsIn(steps)) {
    const scope = scopesOfSteps[type];
    if (scope !== undefined) checkScopes(c.get('caller'), { scopes: [scope] });
  }
}
