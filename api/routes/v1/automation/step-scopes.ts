import type { Step } from '../../../../src/automation/core/step-types.ts';
import type { ApiContext } from '../../../context.ts';
import { checkScopes } from '../../../middleware/authenticate.ts';

/** Whoever saves a step that acts must be allowed to act. @throws AppError forbidden */
export function checkStepScopes(c: ApiContext, steps: readonly Step[] | undefined): void {
  if (steps?.some(({ type }) => type === 'action')) checkScopes(c.get('caller'), { scopes: ['integrations'] });
}
