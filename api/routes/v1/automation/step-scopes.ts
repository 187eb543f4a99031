import { type Step, stepsIn } from '../../../../src/automation/core/step-types.ts';
import type { Services } from '../../../../src/services.ts';
import { catalog } from '../../../../src/services.ts';
import type { ApiContext } from '../../../context.ts';
import { checkScopes } from '../../../middleware/authenticate.ts';

/**
 * Steps of features have the rights of a request with the key that saves them, and no more.
 * @throws AppError forbidden unless the key that saves steps may use the features that they use, in whatever list they stand
 */
export function checkStepScopes(c: ApiContext, { tools }: Pick<Services, 'tools'>, steps: readonly Step[] = []): void {
  for (const step of stepsIn(steps)) {
    const kind = catalog.stepKinds.get(step.type);
    const ofTools = step.type === 'prompt' ? tools.scopesOf(step.tools ?? []) : [];
    checkScopes(c.get('caller'), { scopes: kind ? [kind.scope] : ofTools });
  }
}
