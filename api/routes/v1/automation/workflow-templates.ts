import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { gallery } from '../../../../src/automation/templates/gallery.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { templateListExamples, templateListSchema } from '../../../schemas/automation/workflow-template.ts';
import { pageQuery, paginationOf, withPageDefaults } from '../../../schemas/pagination.ts';

/** The gallery of workflows to begin with. */
export function workflowTemplateRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Workflows', key: requireKey(services, 'workflows:read') });
  const list = operation({
    method: 'get',
    path: '/workflow-templates',
    operationId: 'listWorkflowTemplates',
    'x-client-method': 'workflowTemplates.list',
    summary: 'List workflow templates',
    description:
      'Example workflows, each for one feature. `POST /workflows` with `template` creates a workflow from one.',
    query: z.object(pageQuery),
    answers: { 200: answer('A page of templates.', templateListSchema, { examples: templateListExamples }) },
  });
  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { limit, offset } = withPageDefaults(c, c.req.valid('query'));
    const templates = gallery
      .slice(offset, offset + limit)
      .map(({ id, name, description, inputs, example }) => ({ id, name, description, inputs, example }));
    const page = { items: templates, total: gallery.length, limit, offset };
    const isFlat = c.get('dialect').variant === 'B';
    const shown = isFlat
      ? { templates, total: page.total, limit, offset }
      : { templates, pagination: paginationOf(page) };
    return c.json(success(shown), 200);
  });
  return routes;
}
