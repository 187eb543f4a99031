import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient, untilTaken } from '../api-client.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { asOperator } from '../operator.ts';
import { type Product, sharedProduct } from '../product.ts';
import { addCalendar } from '../scheduling/calendar-rows.ts';
import { until } from '../until.ts';
import { formOf, silence } from '../voice/voice.ts';
import { readOperations } from '../walk/walked-operations.ts';
import { atV1, type DocumentedOperation, isOfPeople, type Json, type ReadDocument } from './document.ts';

let product: Product;
let read: ReadDocument;
let base: string;
beforeAll(async () => {
  const shared = await sharedProduct();
  product = shared;
  base = shared.process.api;
  read = await readOperations(apiClient(base));
});
afterAll(() => product.close());

const isRemoval = ({ method }: DocumentedOperation) => method === 'DELETE';
const named = (operationId: string) => read.operations.find(({ operation }) => operation.operationId === operationId)!;

/** The bodies that an operation's own examples of this dialect send; one without a body where it takes none. */
function bodiesOf(
  { operation, isVersioned }: DocumentedOperation,
  dialect: string,
): { type?: string; body?: unknown }[] {
  const content = Object.entries<Json>(operation.requestBody?.content ?? {});
  const bodies = content.flatMap(([type, { examples = {} }]) =>
    Object.entries<Json>(examples)
      .filter(([name]) => !isVersioned || name.startsWith(dialect))
      .map(([, { value }]) => ({ type, body: value })),
  );
  return content.length === 0 ? [{}] : bodies;
}

/** What only work that has ended, or was given up, allows: right after the request that began it there is a conflict. */
const isConflict = ({ operation }: DocumentedOperation, status: number) =>
  status === 409 &&
  ['replayDelivery', 'expungeDeliveryContent', 'deleteRun', 'deleteGeneration'].includes(operation.operationId);

/** What a link gives on: `$response.body#/data/id` of an answer, `$request.path.id` of its request, or a constant. */
function readFrom(expression: string, body: Json, parameters: Record<string, string>): string {
  if (!expression.startsWith('$')) return expression;
  const [, parameter] = /^\$request\.path\.(\w+)$/.exec(expression) ?? [];
  if (parameter) return parameters[parameter]!;
  const [, pointer] = /^\$response\.body#\/(.+)$/.exec(expression) ?? [];
  if (!pointer) throw new Error(`A link has the expression ${expression}, which this test cannot read.`);
  return pointer.split('/').reduce((at, name) => at?.[name], body);
}

/** An integrator who knows nothing but the document: sends its examples and follows its links, removals last. */
class Reader {
  readonly #client: ApiClient;
  readonly #dialect: 'A' | 'B';
  /** Names of the operations that answered with a success. */
  readonly done = new Set<string>();
  #image: string | undefined;

  constructor(client: ApiClient, dialect: 'A' | 'B') {
    this.#client = client;
    this.#dialect = dialect;
  }

  /** The image of an example stands on no server: who reads the document sends one of their own. */
  async #withOwnImage(body: Json): Promise<Json> {
    if (body?.imageUrl === undefined) return body;
    this.#image ??= (await this.#client.post('/api/studio/generate', { prompt: 'A boat' })).body.data.url;
    return { ...body, imageUrl: this.#image };
  }

  /** @param given members of the body that a link gives, in place of those of the examples */
  async call(of: DocumentedOperation, parameters: Record<string, string> = {}, given: Json = {}): Promise<void> {
    // Each dialect below the prefix that its guides name.
    const template = this.#dialect === 'A' ? of.path : atV1(of.path);
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name]!) + queryOf(of, parameters);
    this.done.add(of.operation.operationId);
    for (const { type, body: example } of bodiesOf(of, this.#dialect)) {
      const filled = Object.keys(given).length > 0 ? { ...(example as object), ...given } : example;
      const body = await this.#withOwnImage(filled);
      const isForm = type === 'multipart/form-data';
      const text = typeof body === 'string' ? body : body && JSON.stringify(body);
      const sent = isForm ? formOf(silence(1), { language: body.language }) : text;
      const headers = {
        ...(of.isVersioned && { 'x-api-variant': this.#dialect }),
        ...(type && !isForm && { 'content-type': type }),
        ...(JSON.stringify(of.operation.security).includes('cronSecret') && asOperator),
      };
      const answer = await untilTaken(`${of.endpoint} is available`, () =>
        this.#client.request(of.method, path, sent, headers),
      );
      const seen = { of: of.endpoint, dialect: this.#dialect, sent: body, status: answer.status, got: answer.body };
      expect([seen].filter(({ status }) => status >= 300 && !isConflict(of, status))).toEqual([]);
      await this.#follow(of, String(answer.status), answer.body, parameters);
    }
  }

  async #follow(
    of: DocumentedOperation,
    status: string,
    body: Json,
    parameters: Record<string, string>,
  ): Promise<void> {
    const links = Object.values<Json>(of.responses[status]!.response.links ?? {});
    const targets = links.map((link) => ({ link, target: named(link.operationId) }));
    for (const { link, target } of targets.toSorted((one, two) => +isRemoval(one.target) - +isRemoval(two.target))) {
      if (this.done.has(link.operationId) || isOfPeople(target)) continue;
      const given = Object.entries<string>(link.parameters ?? {});
      const values = given.map(([name, text]) => [name, readFrom(text, body, parameters)]);
      const sent = Object.entries<string>(JSON.parse(link.requestBody ?? '{}')).map(([name, text]) => {
        const [, expression = text] = /^\{(.*)\}$/.exec(text) ?? [];
        return [name, readFrom(expression, body, parameters)];
      });
      await this.call(target, Object.fromEntries(values), Object.fromEntries(sent));
    }
  }
}

const requiredQuery = ({ parameters }: DocumentedOperation) =>
  parameters.filter((one) => one.in === 'query' && one.required);

function queryOf(of: DocumentedOperation, parameters: Record<string, string>): string {
  const given = requiredQuery(of).map(({ name }): [string, string] => [name, parameters[name]!]);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** Ids of ours that the body of an operation must have. Those in payloads of actions are the provider's. */
function idsInBody({ operation, path }: DocumentedOperation): string[] {
  if (/\/integrations\/[^/]+\/actions\//.test(path)) return [];
  const schema = operation.requestBody?.content['application/json']?.schema;
  const { required = [] } = (schema?.$ref ? read.resolve(schema.$ref) : schema) ?? {};
  return required.filter((name: string) => name.endsWith('Id'));
}

/** Whether an operation can be called without something that another one answered. */
const standsAlone = (of: DocumentedOperation) =>
  !of.path.includes('{') && requiredQuery(of).length === 0 && idsInBody(of).length === 0;

test.each(['A', 'B'] as const)(
  'every example request of dialect %s is answered as documented, and every operation is one or has a link to it',
  async (dialect) => {
    const { testKey } = await product.createTenant({ plan: 'enterprise' });
    // Only consents at providers make a calendar, and connect an integration.
    const { hosts } = (await apiClient(base, testKey).get('/api/v1/scheduling/hosts')).body.data;
    await addCalendar(product.database, hosts[0].id);
    for (const id of ['slack', 'microsoft-teams', 'hubspot', 'salesforce', 'linkedin']) {
      await connectInSandbox(apiClient(base, testKey), base, id);
    }
    // A run has to ask for an approval before it can be answered.
    const client = apiClient(base, testKey);
    const form = { type: 'object', properties: { amount: { type: 'number' } } };
    const flow = await makeFlow(product, client, [{ id: 'ask', type: 'approval', message: 'Refund it?', form }]);
    await client.post(`/api/v1/workflows/${flow}/execute`, { input: 'x', async: true });
    await until('the run asks', async () => (await client.get('/api/v1/approvals')).body.data.approvals.length > 0);
    const reader = new Reader(client, dialect);
    // Lists last: their links lead to removals.
    // A stream of many runs needs a filter, and never ends.
    const ofKeys = read.operations.filter((of) => !isOfPeople(of) && of.operation.operationId !== 'streamRunsEvents');
    const alone = ofKeys.filter(standsAlone);
    for (const of of alone.toSorted((one, two) => +(one.method === 'GET') - +(two.method === 'GET'))) {
      await reader.call(of);
    }
    // The address of a file stands whole in an answer, with its signature: no link could make it.
    reader.done.add('getFile');
    const missed = ofKeys.filter(({ operation }) => !reader.done.has(operation.operationId));
    expect(
      missed.map(({ endpoint }) => `${endpoint}: no answer has a link that leads to it (answer(…, { links }))`),
    ).toEqual([]);
  },
);

test('the ids of the examples are of the form that the product gives', async () => {
  const { testKey } = await product.createTenant();
  const client = apiClient(base, testKey);
  for (const dialect of ['A', 'B']) {
    const headers = { 'x-api-variant': dialect };
    const shape = (id: string) => id.replaceAll(/[0-9a-f]/g, 'x');
    const { body } = await client.post('/api/v1/workflows', { name: 'Shape' }, headers);
    const example = named('createWorkflow').responses['201']!.response.content['application/json'].examples[dialect];
    expect(shape(example.value.data.id)).toBe(shape(body.data.id));
    expect(Object.keys(example.value.data).toSorted()).toEqual(Object.keys(body.data).toSorted());
  }
});
