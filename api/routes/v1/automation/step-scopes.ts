import { type Step, stepsIn } from '../../../../src/automation/core/step-types.ts';
import { catalog } from '../../../../src/services.ts';
import type { ApiContext } from '../../../context.ts';
import { checkScopes } from '../../../middleware/authenticate.ts';

/**
 * Steps of features do what a request of the key that saves them may do, and no more.
 * @throws AppError forbidden unless the key that saves steps may use the features that they use, in whatever list they stand
 */
export function checkStepScopes(c: ApiContext, steps: readonly Step[] = []): void {
  for (const { type } of stepsIn(steps)) {
    const kind = catalog.stepKinds.get(type);
    if (kind) checkScopes(c.get('caller'), { scopes: [kind.scope] });
  }
}
