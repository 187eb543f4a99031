import { beforeAll, describe, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { statusOf } from '../../api/envelopes.ts';
import { AppError, type ErrorKind, errorKinds } from '../../src/platform/errors.ts';
import { catalog } from '../../src/services.ts';
import {
  type DocumentedOperation,
  hasErrorMessage,
  type Json,
  type ReadDocument,
  readDocument,
  takesIdempotencyKey,
} from './document.ts';
import { printDocument } from './printed-document.ts';

let read: ReadDocument;
let text: string;
beforeAll(async () => {
  text = await printDocument();
  read = readDocument(JSON.parse(text));
});

/** Operations that answer for the provider of an integration. */
const asksProvider = ({ path }: { path: string }) => /\/integrations\/[^/]+\/(test|actions\/[a-z_]+$)/.test(path);

const ofAll = ['X-Request-ID', 'x-correlation-id'];
const ofKeys = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Cache-Control'];

/** Open to everybody, as the interface says; what is not listed here needs a key, or is the operator's. */
const open = [
  'GET /api/version',
  'GET /api/health',
  'GET /api/ready',
  'POST /api/performance/vitals',
  // The secret is in the path.
  'POST /api/v1/webhooks/{id}/{secret}',
  // The address is signed: whatever is wrong with it is 403.
  'GET /files/{name}',
];
/** Refused with 422 when the rules do not allow the time. */
const movesBooking = /^PATCH \/api\/v1\/scheduling\/bookings\/\{id\}\/reschedule$/;
/** Only a person who is signed in asks. */
const personal =
  /^((GET|POST|DELETE) \/api\/v1\/account(\/|$)|(PATCH|DELETE) \/api\/v1\/members\/|POST \/api\/v1\/invitations$|DELETE \/api\/v1\/(invitations\/|organization$))/;
const operators = /^(GET|POST) \/api\/(admin|cron)\//;

const mediaOf = (body: Json): [type: string, media: Json][] => Object.entries(body?.content ?? {});
const isSuccess = (status: string) => status.startsWith('2');

/** The examples of a media type by name, however they are given. */
const examplesOf = ({ examples = {}, example }: Json): [name: string, value: unknown][] => [
  ...Object.entries<Json>(examples).map(([name, { value }]): [string, unknown] => [name, value]),
  ...(example === undefined ? [] : ([['example', example]] as [string, unknown][])),
];

/** What a route lacks, each in words that say what to add and where. */
const demands: Record<string, (of: DocumentedOperation) => (string | false)[]> = {
  'a name, words and a place in the reference': ({ operation }) => [
    !/^[a-z][A-Za-z0-9]+$/.test(operation.operationId ?? '') && 'operationId: a verb and a noun, as in getWorkflow',
    !/\w/.test(operation.summary ?? '') && 'summary',
    !/\w/.test(operation.description ?? '') && 'description',
    operation.tags?.length !== 1 && 'tags: exactly one',
  ],

  'a method of the client': ({ method, path, operation }) => {
    const name: string = operation['x-client-method'] ?? '';
    const verb = name.split('.').at(-1)!;
    const isVerb = path.endsWith(`/${verb}`);
    return [
      !/^[a-z]\w*(\.[a-z]\w*){1,3}$/.test(name) && "'x-client-method': as in workflows.create (docs/development.md)",
      method === 'PATCH' && verb !== 'update' && !isVerb && `'x-client-method': update, not ${verb}`,
      method === 'DELETE' && verb !== 'delete' && `'x-client-method': delete, not ${verb}`,
    ];
  },

  'who may call it': ({ endpoint, operation: { security } }) => {
    if (open.includes(endpoint))
      return [JSON.stringify(security) !== '[]' && 'security: [] as it is open to everybody'];
    const [first, second] = security ?? [];
    if (operators.test(endpoint)) return [first?.cronSecret === undefined && 'security: [{ cronSecret: [] }]'];
    if (personal.test(endpoint)) return [first?.session === undefined && 'security: [{ session: [] }]'];
    const scopes = first?.bearer ?? [];
    const isKeyed = first?.bearer !== undefined && JSON.stringify(second?.apiKey) === JSON.stringify(scopes);
    return [
      !isKeyed && 'security: keySecurity(scope) of api/schemas/answers.ts',
      !scopes.every((scope: string) => catalog.scopes.some((one) => one === scope)) && 'security: a scope that exists',
    ];
  },

  'every parameter of its path, and the headers that it reads': (of) => {
    const inPath = [...of.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = of.parameters.filter((one) => one.in === 'path');
    const headers = of.parameters.filter((one) => one.in === 'header').map(({ name }) => name);
    return [
      described.map(({ name }) => name).join() !== inPath.join() && `parameters in the path: ${inPath.join()}`,
      described.some((one) => !one.examples && one.example === undefined) && 'an example of each parameter in the path',
      of.isVersioned &&
        !headers.includes('X-API-Variant') &&
        'the header X-API-Variant (api/openapi/openapi.ts adds it)',
      !headers.includes('x-correlation-id') && 'the header x-correlation-id (api/openapi/openapi.ts adds it)',
    ];
  },

  'every status that it can answer': (of) => {
    const inPath = of.path.includes('{');
    const hasBody = of.operation.requestBody !== undefined;
    const hasQuery = of.parameters.some((one) => one.in === 'query');
    const needed: [string, unknown][] = [
      ['400', of.needsKey || hasBody || (hasQuery && !of.path.startsWith('/files/'))],
      ['401', of.needsKey || operators.test(of.endpoint)],
      ['403', of.needsKey],
      ['404', inPath || of.needsKey],
      ['413', hasBody],
      ['415', hasBody],
      ['422', takesIdempotencyKey(of)],
      ['429', true],
      ['500', true],
      ['503', of.needsKey],
    ];
    const isDocumented = (status: string) => of.responses[status] !== undefined;
    return [
      !Object.keys(of.responses).some(isSuccess) && 'a success',
      ...needed.map(
        ([status, isNeeded]) => Boolean(isNeeded) && !isDocumented(status) && `${status}: add it to failures(…)`,
      ),
      !takesIdempotencyKey(of) &&
        !movesBooking.test(of.endpoint) &&
        isDocumented('422') &&
        '422 is never answered without an Idempotency-Key',
    ];
  },

  'the headers of each answer': (of) =>
    Object.entries(of.responses).flatMap(([status, { headers }]) => {
      const needs = (name: string, required: boolean) =>
        headers[name]?.required !== required &&
        `${status}: the header ${name}, ${required ? 'always' : 'sometimes'} (use answer, openAnswer or failures of api/schemas/answers.ts)`;
      const isKnown = of.needsKey && (isSuccess(status) || /404|409|413|415|422/.test(status));
      return [
        ...ofAll.map((name) => needs(name, true)),
        ...(isKnown ? ofKeys.map((name) => needs(name, true)) : []),
        // A token from another origin than its own is refused before its request is counted.
        ...(of.needsKey && status === '403' ? ofKeys.map((name) => needs(name, false)) : []),
        // Where it may be the provider of an integration that refuses us, it does not ask for another key.
        status === '401' && needs('WWW-Authenticate', !asksProvider(of)),
        status === '429' && needs('Retry-After', true),
        status === '503' && of.needsKey && needs('Retry-After', false),
        of.isVersioned && needs('X-API-Deprecated', false),
        isSuccess(status) && takesIdempotencyKey(of) && needs('Idempotent-Replayed', false),
      ];
    }),

  'a body of each answer, in its envelope': (of) =>
    Object.entries(of.responses).flatMap(([status, { response }]) => {
      if (['204', '304'].includes(status)) return [response.content !== undefined && `${status}: no body`];
      const [media] = Object.values<Json>(response.content ?? {});
      const schema = JSON.stringify(media?.schema ?? null);
      const ofAccess = ['401', '403', '429'].includes(status) && of.isVersioned;
      return [
        schema === 'null' && `${status}: a schema`,
        ofAccess && !/Error.*AccessError/.test(schema) && `${status}: either envelope, E1 or E3`,
        !isSuccess(status) &&
          !(hasErrorMessage(of) ? /\/ErrorMessage"/ : /\/(ErrorResponse|Health|Readiness)"/).test(schema) &&
          `${status}: an envelope of failures`,
        !/\w/.test(response.description ?? '') && `${status}: a description`,
      ];
    }),

  'examples of each body that goes in and out': (of) => {
    const lacks = (what: string, [type, media]: [string, Json]) => {
      const names = examplesOf(media).map(([name]) => name);
      const both = ['A', 'B'].every((dialect) => names.some((name) => name.startsWith(dialect)));
      return [
        names.length === 0 && `${what} as ${type}: examples (jsonContent or answer of api/schemas/answers.ts)`,
        of.isVersioned && !both && `${what} as ${type}: an example of each dialect, called A and B`,
      ];
    };
    return [
      ...mediaOf(of.operation.requestBody).flatMap((media) => lacks('the request', media)),
      ...Object.entries(of.responses).flatMap(([status, { response }]) =>
        mediaOf(response).flatMap((media) => lacks(status, media)),
      ),
    ];
  },

  'examples that its own schemas allow': (of) => {
    const wrong = (what: string, [type, media]: [string, Json], ...place: string[]) =>
      examplesOf(media).map(([name, value]) => {
        const problem = read.conformance.problemOf(value, ...place, 'content', type, 'schema');
        return problem !== undefined && `${what}, example ${name}: ${problem}`;
      });
    const own = ['paths', of.path, of.method.toLowerCase()];
    return [
      ...mediaOf(of.operation.requestBody).flatMap((media) => wrong('the request', media, ...own, 'requestBody')),
      ...Object.entries(of.responses).flatMap(([status, { place, response }]) =>
        mediaOf(response).flatMap((media) => wrong(status, media, ...place)),
      ),
    ];
  },

  'links that lead somewhere': (of) =>
    Object.entries(of.responses).flatMap(([status, { response }]) =>
      Object.entries<Json>(response.links ?? {}).flatMap(([name, { operationId, parameters = {} }]) => {
        const target = read.operations.find(({ operation }) => operation.operationId === operationId);
        if (!target) return [`${status}, link ${name}: an operation that exists, not ${operationId}`];
        const missing = [...target.path.matchAll(/\{(\w+)\}/g)].filter(([, parameter]) => !parameters[parameter!]);
        return missing.map(([, parameter]) => `${status}, link ${name}: the parameter ${parameter}`);
      }),
    ),
};

describe('every operation has', () => {
  test.each(Object.entries(demands))('%s', (_, demand) => {
    const lacking = read.operations.flatMap((of) =>
      demand(of)
        .filter((one) => one !== false)
        .map((one) => `${of.endpoint}: ${one}`),
    );
    expect(lacking).toEqual([]);
  });

  test('a method that no other has, and none where browsers and providers call', () => {
    const methodsOf = (of: DocumentedOperation[]) => of.map(({ operation }) => operation['x-client-method']);
    const methods = methodsOf(read.operations);
    expect(methods.filter((one, index) => methods.indexOf(one) !== index)).toEqual([]);
    // A method is not also a resource: `runs.events` and `runs.events.list`.
    expect(methods.filter((one) => methods.some((other) => other.startsWith(`${one}.`)))).toEqual([]);
    expect(methodsOf(read.inbound).filter((one) => one !== undefined)).toEqual([]);
  });

  test('an Idempotency-Key where a POST creates or spends something', () => {
    // What creates and spends nothing: to do it twice is to do it once.
    // To cancel twice is to cancel once, and so with a pause. What is validated is not kept.
    // The occurrences of a pattern are returned and not stored.
    // An invitation takes the place of the one before, and a redirect address is on the list once.
    // Each question for a consent is one of its own, and is over by itself; so is a token.
    const harmless =
      /^POST \/api\/(admin|cron|performance|v1\/tokens$|v1\/account\/sessions\/revoke$|v1\/(invitations|redirect-urls)$|v1\/(runs\/\{id\}|batches\/\{batchId\})\/cancel|v1\/bulk-actions\/\{bulkActionId\}\/abort|v1\/workflows\/(validate|\{id\}\/(pause|resume))$|v1\/approvals\/\{approvalId\}\/respond|studio\/generate-video\/\{id\}\/cancel|v1\/scheduling\/(recurring-patterns\/\{id\}\/generate|calendars\/(connect|\{id\}\/sync))|v1\/integrations\/(actions\/\{actionRunId\}\/cancel|\{integrationId\}\/(connect|test)))/;
    const without = read.operations.filter((of) => of.method === 'POST' && !takesIdempotencyKey(of));
    expect(without.map(({ endpoint }) => endpoint).filter((endpoint) => !harmless.test(endpoint))).toEqual([]);
    const others = read.operations.filter((of) => of.method !== 'POST' && takesIdempotencyKey(of));
    expect(others.map(({ endpoint }) => endpoint)).toEqual([]);
  });
});

describe('the document', () => {
  test('is valid OpenAPI 3.1, and passes a public linter with its strictest set of rules', async () => {
    // The product has no public license.
    const config = await createConfig({ extends: ['recommended-strict'], rules: { 'info-license': 'off' } });
    const problems = await lintFromString({ source: text, config });
    expect(read.document.openapi).toMatch(/^3\.1\./);
    // `actions` is no id of an integration.
    const isKnown = ({ message }: { message: string }) => /ambiguous paths: .*integrations\/actions\//.test(message);
    // A consent of the sandbox is granted by a redirect.
    const isRedirect = ({ ruleId, location }: (typeof problems)[number]) =>
      ruleId === 'operation-2xx-response' && /sandbox/.test(location[0]?.pointer ?? '');
    const others = problems.filter((one) => !isKnown(one) && !isRedirect(one));
    expect(others.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test('describes each of its tags, security schemes and parameters, and uses them all', () => {
    const { tags, components } = read.document;
    const used = new Set([...read.operations, ...read.inbound].flatMap(({ operation }) => operation.tags));
    expect(tags.map(({ name }: Json) => name).toSorted()).toEqual([...used].toSorted());
    for (const one of [
      ...tags,
      ...Object.values(components.securitySchemes),
      ...Object.values(components.parameters),
    ]) {
      expect((one as Json).description).toMatch(/\w/);
    }
    expect(Object.keys(components.securitySchemes)).toEqual([
      'bearer',
      'apiKey',
      'webhookSecret',
      'session',
      'cronSecret',
    ]);
  });

  test('has an example of every type of step in each dialect', () => {
    const { operation } = read.operations.find((of) => of.operation.operationId === 'createWorkflow')!;
    const { examples } = operation.requestBody.content['application/json'];
    const typesIn = (dialect: string) =>
      Object.entries<Json>(examples)
        .filter(([name]) => name.startsWith(dialect))
        // One names a template instead.
        .flatMap(([, { value }]) => (value.steps ?? []).map(({ type }: Json) => type));
    expect(new Set(typesIn('A'))).toEqual(new Set(['prompt', 'condition', 'transform', 'action']));
    expect(new Set(typesIn('B'))).toEqual(new Set(['ai_chat', 'condition', 'transform', 'action']));
  });

  test('has examples of failures that are what their status says', () => {
    const byUpperCase = new Map<string, ErrorKind>([
      ...errorKinds.map((kind): [string, ErrorKind] => [kind.toUpperCase(), kind]),
      ...Object.entries(catalog.errors).map(([code, kind]): [string, ErrorKind] => [code.toUpperCase(), kind]),
    ]);
    const ownInB: Record<string, ErrorKind> = {
      RESOURCE_NOT_FOUND: 'not_found',
      RATE_LIMITED: 'rate_limit_exceeded',
      invalid_api_key: 'unauthorized',
    };
    const wrong = read.operations.flatMap((of) =>
      Object.entries(of.responses)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([status, { response }]) =>
          examplesOf(response.content['application/json']).flatMap(([, value]) => {
            const code: string | undefined = (value as Json).error?.code;
            if (code === undefined) return [];
            const known = ownInB[code] ?? byUpperCase.get(code.toUpperCase());
            return known && statusOf(new AppError(known, 'x')) === Number(status)
              ? []
              : [`${of.endpoint} ${status} ${code}`];
          }),
        ),
    );
    expect(wrong).toEqual([]);
  });

  test('leads from what is created to reading, changing and deleting it, and from an execution to its run', () => {
    const linksOf = (operationId: string, status: string) => {
      const of = read.operations.find(({ operation }) => operation.operationId === operationId)!;
      return Object.values<Json>(of.responses[status]!.response.links).map((link) => link.operationId);
    };
    const ofWorkflow = ['getWorkflow', 'updateWorkflow', 'executeWorkflow', 'listWorkflowRuns', 'deleteWorkflow'];
    expect(linksOf('createWorkflow', '201')).toEqual(expect.arrayContaining(ofWorkflow));
    expect(linksOf('getWorkflow', '200')).toEqual(expect.arrayContaining(['updateWorkflow', 'deleteWorkflow']));
    expect(linksOf('updateWorkflow', '200')).toEqual(expect.arrayContaining(['getWorkflow', 'deleteWorkflow']));
    for (const status of ['200', '202']) expect(linksOf('executeWorkflow', status)).toContain('getRun');
  });
});
