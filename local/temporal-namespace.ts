import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToNumber, msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../src/temporal/contracts/search-attributes.ts';

/** Closed runs stay visible this long; namespaces that the development server makes itself would forget them after a day. */
const RETENTION = '30 days';

/** The type of all our search attributes; a namespace on an SQL store has ten of it. */
const KEYWORD = 2;
const NOTICED_MS = 20_000;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/**
 * Gives a namespace what Atelier needs: retention of at least 30 days and the search attributes. Makes the namespace
 * when it is missing. Safe to repeat and to run from several processes at once; throws the server's gRPC error otherwise.
 */
export async function prepareNamespace(connection: Connection, namespace: string): Promise<void> {
  await prepareRetention(connection, namespace);
  const { customAttributes } = await listSearchAttributes(connection, namespace);
  const missing = Object.values(searchAttributes).filter((name) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return;
  const added = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await unless(ALREADY_EXISTS, connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }));
}

/** A server takes some seconds to notice a namespace that was just made. */
async function listSearchAttributes({ operatorService }: Connection, namespace: string) {
  const deadline = performance.now() + NOTICED_MS;
  for (;;) {
    const listed = await unless(NOT_FOUND, operatorService.listSearchAttributes({ namespace }));
    if (listed !== undefined) return listed;
    if (performance.now() > deadline)
      throw new Error(`the server does not find it ${NOTICED_MS / 1000} s after it was made`);
    await delay(200);
  }
}

/** There is no server, which is another matter than one that refuses. */
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
