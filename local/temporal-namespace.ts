import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToNumber, msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../src/temporal/contracts/search-attributes.ts';

/** Retention of closed workflows. The default of the development server is one day. */
const RETENTION = '30 days';

/** The type of all search attributes. A namespace in an SQL store can have ten of this type. */
const KEYWORD = 2;
const NOTICED_MS = 20_000;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/**
 * Prepares a namespace: creates it if it does not exist, and sets a retention of at least 30 days and the search
 * attributes. Safe to repeat and to run concurrently. Throws the server's gRPC errors.
 */
export async function prepareNamespace(connection: Connection, namespace: string): Promise<void> {
  await prepareRetention(connection, namespace);
  const { customAttributes } = await listSearchAttributes(connection, namespace);
  const missing = Object.values(searchAttributes).filter((name) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return;
  const added = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await unless(ALREADY_EXISTS, connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }));
}

/** A server needs some seconds to find a new namespace. */
async function listSearchAttributes({ operatorService }: Connection, namespace: string) {
  const deadline = performance.now() + NOTICED_MS;
  for (;;) {
    const listed = await unless(NOT_FOUND, operatorService.listSearchAttributes({ namespace }));
    if (listed !== undefined) return listed;
    if (performance.now() > deadline)
      throw new Error(`the server does not find the namespace ${NOTICED_MS / 1000} s after its creation`);
    await delay(200);
  }
}

/** No server answered, as opposed to a server that refused the request. */
export class NoTemporalServer extends Error {
  override name = 'NoTemporalServer';
}

/**
 * `prepareNamespace` on the server at an address (host:port), with a connection of its own.
 * @throws NoTemporalServer when nothing answers in 5 s, and the server's gRPC error otherwise
 */
export async function prepareNamespaceAt(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 5000 }).catch((error: Error) => {
    throw new NoTemporalServer(`no Temporal server answers at ${address} (${error.message})`, { cause: error });
  });
  try {
    await prepareNamespace(connection, namespace);
  } finally {
    await connection.close();
  }
}

async function prepareRetention({ workflowService }: Connection, namespace: string): Promise<void> {
  const workflowExecutionRetentionTtl = msToTs(RETENTION);
  const found = await unless(NOT_FOUND, workflowService.describeNamespace({ namespace }));
  if (found === undefined) {
    await unless(
      ALREADY_EXISTS,
      workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: workflowExecutionRetentionTtl }),
    );
    return;
  }
  const current = found.config?.workflowExecutionRetentionTtl;
  if (current && tsToMs(current) >= msToNumber(RETENTION)) return;
  await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl } });
}

async function unless<T>(code: number, call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if ((error as { code?: number }).code === code) return undefined;
    throw error;
  }
}
