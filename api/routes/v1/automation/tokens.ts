import type { OpenAPIHono } from '@hono/zod-openapi';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { createToken } from '../../../../src/tenancy/tokens/create-token.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { checkScopes, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  issuedTokenExamples,
  issuedTokenSchema,
  newTokenExamples,
  newTokenSchema,
  readNewToken,
} from '../../../schemas/automation/token.ts';

/** Tokens that a server hands to its browsers. */
export function tokenRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Tokens', key: requireKey(services) });

  const create = operation({
    method: 'post',
    path: '/tokens',
    operationId: 'createToken',
    'x-client-method': 'tokens.create',
    summary: 'Create a token for a browser',
    description: [
      'A short-lived token, with which a page calls the API itself. It can do no more than the key: a scope that the key lacks is answered with 403. A token that names runs, workflows, a batch or tags sees and starts only those; with several of these it sees what matches all of them. `runs:execute` needs one of them. The token ends when its key ends; a token that a person creates ends with the session, the membership or the role `member`. A token cannot create tokens. Tokens reach the execution of workflows, the reading and cancelling of runs, chat without `mcpServers`, and voice.',
    ].join(' '),
    body: jsonContent(newTokenSchema, newTokenExamples),
    idempotent: true,
    failures: [409],
    answers: {
      201: answer('Returns the token.', issuedTokenSchema, { examples: issuedTokenExamples, replayable: true }),
    },
  });

  const routes = newRoutes();
  routes.openapi(create, async (c) => {
    const caller = c.get('caller');
    const asked = readNewToken(c.req.valid('json'));
    checkScopes(caller, asked);
    const isRestricted = Object.values(asked.runs).some((named) => named !== null);
    if (asked.scopes.includes('runs:execute') && !isRestricted) {
      throw invalid([
        {
          path: 'workflowIds',
          message: 'Name workflows, runs, a batch or tags: the token would start every workflow.',
        },
      ]);
    }
    const once = { claim: readIdempotency(c), sealer: services.sealer };
    const { outcome, replayed } = await createToken(c.get('scope'), caller, asked, once);
    markReplayed(c, replayed);
    return c.json(success({ token: outcome.token, expiresAt: outcome.expiresAt.toISOString() }), 201);
  });
  return routes;
}
