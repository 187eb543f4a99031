import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { runIds } from '../../../../src/automation/core/ids.ts';
import { stepStates } from '../../../../src/automation/core/run-status.ts';
import { runNotFound } from '../../../../src/automation/errors.ts';
import { listSteps } from '../../../../src/automation/steps/step-list.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { alsoForTokens, requireKeyAndId } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { stepListSchema } from '../../../schemas/automation/run.ts';
import { exampleRunIds, stepListExamples } from '../../../schemas/automation/run-examples.ts';
import { several } from '../../../schemas/automation/run-search.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';
import { namedRunInPath } from './named-runs.ts';

const query = z.object({
  ...pageQuery,
  path: z
    .string()
    .max(500)
    .regex(/^[A-Za-z0-9_.-]+$/, 'Expected a dotted path.')
    .optional()
    .openapi({ description: 'A dotted path, such as `each.3`: the steps there and within.' }),
  status: several(
    (part) => stepStates.all.find((status) => status === part.toLowerCase()),
    'Expected statuses of steps, separated by commas.',
  ).openapi({ type: 'string', description: 'Statuses of steps, separated by commas.' }),
});

export function runStepRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = alsoForTokens(requireKeyAndId(services, { ...runIds, notFound: runNotFound }, 'runs:read'));
  const operation = operationsOf({ tag: 'Runs', key });
  const list = operation({
    method: 'get',
    path: '/runs/{id}/steps',
    operationId: 'listRunSteps',
    'x-client-method': 'runs.steps.list',
    summary: 'List the steps of a run',
    description:
      'Lists the steps in the order of their start, including steps within others, and then the steps that an ended run never reached. Outputs of more than 256 KiB are replaced by `{$ref, bytes}`; so are the largest ones of a page that has more than 2 MiB.',
    params: idInPath(exampleRunIds),
    query,
    answers: { 200: answer('A page of steps.', stepListSchema, { examples: stepListExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { path, status: statuses, ...page } = withPageDefaults(c, c.req.valid('query'));
    const { runId, ...found } = await listSteps(c.get('scope'), await namedRunInPath(c), { path, statuses }, page);
    return c.json(success(automationDialect(c).stepList(runId, found)), 200);
  });
  return routes;
}
