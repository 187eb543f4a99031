import { Connection } from '@temporalio/client';
import { msToNumber, msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import type { TemporalEndpoint } from '../../src/temporal/endpoint.ts';
import { registerSearchAttributes, unless } from '../../src/temporal/namespace.ts';

/** Retention of closed workflows. The default of the development server is one day. */
const RETENTION = '30 days';

const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/**
 * Prepares a namespace: creates it if it does not exist, and sets a retention of at least 30 days and the search
 * attributes. Safe to repeat and to run concurrently. Throws the server's gRPC errors.
 */
async function prepareNamespace(connection: Connection, namespace: string): Promise<void> {
  await prepareRetention(connection, namespace);
  await registerSearchAttributes(connection, namespace);
}

/** No server answered, as opposed to a server that refused the request. */
export class NoTemporalServer extends Error {
  override name = 'NoTemporalServer';
}

/**
 * `prepareNamespace` with a connection of its own.
 * @throws NoTemporalServer when nothing answers in 5 s, and the server's gRPC error otherwise
 */
export async function prepareNamespaceAt(endpoint: TemporalEndpoint, namespace: string): Promise<void> {
  const connection = await Connection.connect({ ...endpoint, connectTimeout: 5000 }).catch((error: Error) => {
    throw new NoTemporalServer(`no Temporal server answers at ${endpoint.address} (${error.message})`, {
      cause: error,
    });
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
