import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { restoreVersion } from '../../../../src/automation/versions/restore-version.ts';
import { diffOf, getVersion, listVersions, type VersionDetail } from '../../../../src/automation/versions/versions.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { shownDefinition } from '../../../dialects/automation/shown-definition.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import {
  patchExamples,
  patchSchema,
  readVersion,
  versionDetailSchema,
  versionExamples,
  versionInPath,
  versionListExamples,
  versionListSchema,
  versionQuery,
  versionsDescription,
  workflowInPath,
} from '../../../schemas/automation/version.ts';
import { pageQuery, paginationOf, withPageDefaults } from '../../../schemas/pagination.ts';
import { checkStepScopes } from './step-scopes.ts';

const shownVersion = (c: ApiContext, { createdAt, definition, ...version }: VersionDetail) => ({
  ...version,
  createdAt: createdAt.toISOString(),
  definition: shownDefinition(definition, c.get('dialect').variant),
});

const ofThis = { id: '$request.path.id', version: '$response.body#/data/versions/0/version' };

export function versionRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Workflows', key: requireKey(services, 'workflows:read') });

  const list = operation({
    method: 'get',
    path: '/workflows/{id}/versions',
    operationId: 'listWorkflowVersions',
    'x-client-method': 'workflows.versions.list',
    summary: 'List the versions of a workflow',
    description: `A save that changes steps, models, config, inputs, concurrency or the maximum duration makes a version, which never changes. ${versionsDescription} Older ones are removed once no run names them.`,
    params: workflowInPath,
    query: z.object(pageQuery),
    answers: {
      200: answer('A page of versions.', versionListSchema, {
        examples: versionListExamples,
        links: {
          Get: { operationId: 'getWorkflowVersion', parameters: ofThis },
          Restore: { operationId: 'restoreWorkflowVersion', parameters: ofThis },
          Diff: {
            operationId: 'diffWorkflowVersions',
            parameters: { ...ofThis, to: '$response.body#/data/versions/0/version' },
          },
        },
      }),
    },
  });
  const get = operation({
    method: 'get',
    path: '/workflows/{id}/versions/{version}',
    operationId: 'getWorkflowVersion',
    'x-client-method': 'workflows.versions.get',
    summary: 'Retrieve a version of a workflow',
    description: 'Returns the version with its definition.',
    params: versionInPath,
    answers: { 200: answer('Returns the version.', versionDetailSchema, { examples: versionExamples }) },
  });
  const diff = operation({
    method: 'get',
    path: '/workflows/{id}/versions/{version}/diff',
    operationId: 'diffWorkflowVersions',
    'x-client-method': 'workflows.versions.diff',
    summary: 'Compare two versions of a workflow',
    description:
      'Returns the operations that turn the definition of this version into the definition of the other version.',
    params: versionInPath,
    query: versionQuery,
    answers: { 200: answer('Returns a JSON Patch (RFC 6902).', patchSchema, { examples: patchExamples }) },
  });
  const restore = operation({
    method: 'post',
    path: '/workflows/{id}/versions/{version}/restore',
    operationId: 'restoreWorkflowVersion',
    'x-client-method': 'workflows.versions.restore',
    summary: 'Restore a version of a workflow',
    description:
      'Saves the definition of this version as a new version, which becomes the current one. Needs the scopes that its steps need.',
    key: requireKey(services, 'workflows:write'),
    params: versionInPath,
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      201: answer('Returns the new version.', versionDetailSchema, { examples: versionExamples, replayable: true }),
    },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const page = await listVersions(c.get('scope'), c.req.valid('param').id, withPageDefaults(c, c.req.valid('query')));
    const versions = page.items.map((one) => ({ ...one, createdAt: one.createdAt.toISOString() }));
    const { total, limit, offset } = page;
    const isFlat = c.get('dialect').variant === 'B';
    return c.json(
      success(isFlat ? { versions, total, limit, offset } : { versions, pagination: paginationOf(page) }),
      200,
    );
  });
  routes.openapi(get, async (c) => {
    const { id, version } = c.req.valid('param');
    return c.json(success(shownVersion(c, await getVersion(c.get('scope'), id, readVersion(version)))), 200);
  });
  routes.openapi(diff, async (c) => {
    const { id, version } = c.req.valid('param');
    const scope = c.get('scope');
    const find = async (number?: number) =>
      shownDefinition((await getVersion(scope, id, number)).definition, c.get('dialect').variant);
    const { to: other } = c.req.valid('query');
    const [from, to] = [await find(readVersion(version)), await find(other === undefined ? other : Number(other))];
    return c.json(success(await diffOf(services.boundedWork, scope, from, to)), 200);
  });
  routes.openapi(restore, async (c) => {
    const { id, version } = c.req.valid('param');
    const mayBring = (steps: Parameters<typeof checkStepScopes>[2]) => checkStepScopes(c, services, steps);
    const claim = readIdempotency(c);
    const made = await restoreVersion(services, c.get('scope'), id, readVersion(version), mayBring, claim);
    markReplayed(c, made.replayed);
    return c.json(success(shownVersion(c, made.outcome)), 201);
  });
  return routes;
}
