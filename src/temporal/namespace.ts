import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type ConnectionLike } from '@temporalio/client';
import { searchAttributes } from './contracts/search-attributes.ts';
import type { TemporalEndpoint } from './endpoint.ts';

/** The type of all search attributes. A namespace in an SQL store can have ten of this type. */
const KEYWORD = 2;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const noticedMs = 20_000;
const usableMs = 90_000;

/** @returns undefined for an error with this gRPC code */
export async function unless<T>(code: number, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if ((error as { code?: number }).code === code) return undefined;
    throw error;
  }
}

/** A query with a search attribute that the namespace lacks is refused, with any store and any rights. */
async function isUsable({ workflowService }: ConnectionLike, namespace: string, names: string[]): Promise<boolean> {
  const query = names.map((name) => `${name} = "-"`).join(' and ');
  return (await unless(INVALID_ARGUMENT, workflowService.countWorkflowExecutions({ namespace, query }))) !== undefined;
}

/**
 * The search attributes that workflows need and the namespace lacks. Without them the server refuses every start.
 * @throws the server's gRPC error when it does not say
 */
export async function missingSearchAttributes(connection: ConnectionLike, namespace: string): Promise<string[]> {
  const names = Object.values(searchAttributes);
  if (await isUsable(connection, namespace, names)) return [];
  const usable = await Promise.all(names.map((name) => isUsable(connection, namespace, [name])));
  return names.filter((_, index) => !usable[index]);
}

/** For operators: the problem and its solution. */
export const missingAttributesProblem = (namespace: string, missing: readonly string[]): string =>
  `The Temporal namespace ${namespace} lacks the search attributes ${missing.join(', ')}, so that nothing can be executed. ` +
  'Register them with "npm run migrate", or with "temporal operator search-attribute create --namespace ' +
  `${namespace} --type Keyword ${missing.map((name) => `--name ${name}`).join(' ')}".`;

/** A server needs some seconds to find a new namespace. */
async function listSearchAttributes({ operatorService }: ConnectionLike, namespace: string) {
  const deadline = performance.now() + noticedMs;
  for (;;) {
    const listed = await unless(NOT_FOUND, operatorService.listSearchAttributes({ namespace }));
    if (listed !== undefined) return listed;
    if (performance.now() > deadline) {
      throw new Error(`the server does not find the namespace ${noticedMs / 1000} s after its creation`);
    }
    await sleep(200);
  }
}

/**
 * Registers the search attributes that the namespace lacks. Safe to repeat and to run concurrently.
 * @returns those that it registered
 * @throws the server's gRPC error, if this client may not do it
 */
export async function registerSearchAttributes(connection: ConnectionLike, namespace: string): Promise<string[]> {
  const { customAttributes } = await listSearchAttributes(connection, namespace);
  const missing = Object.values(searchAttributes).filter((name) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return [];
  const added = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await unless(ALREADY_EXISTS, connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }));
  return missing;
}

/**
 * `registerSearchAttributes` with a connection of its own. Resolves when the server uses them, for which it
 * needs up to a minute.
 */
export async function registerSearchAttributesAt(endpoint: TemporalEndpoint, namespace: string): Promise<string[]> {
  const connection = await Connection.connect({ ...endpoint, connectTimeout: 5_000 });
  try {
    if ((await missingSearchAttributes(connection, namespace)).length === 0) return [];
    const registered = await registerSearchAttributes(connection, namespace);
    const deadline = performance.now() + usableMs;
    for (;;) {
      const missing = await missingSearchAttributes(connection, namespace);
      if (missing.length === 0) return registered;
      if (performance.now() > deadline) throw new Error(missingAttributesProblem(namespace, missing));
      await sleep(500);
    }
  } finally {
    await connection.close();
  }
}
