import type { Database } from '../../src/platform/database/database.ts';
import type { ApiClient } from '../api-client.ts';
import {
  atEveryPrefix,
  type DocumentedOperation,
  exampleBody,
  isOfPeople,
  pathOf,
  type ReadDocument,
  readDocument,
  type Things,
} from '../openapi/document.ts';
import { createThings } from '../things.ts';

/** An operation with what a request of one tenant needs. */
export interface WalkedOperation extends DocumentedOperation {
  /** The path with the ids of the tenant's resources. */
  ownPath: string;
  /** The body of the first example, which the operation accepts; undefined if it takes no JSON. */
  body: unknown;
}

export interface WalkedDocument {
  read: ReadDocument;
  /** One of each resource of the tenant. */
  things: Things;
  /** Every operation that needs a key or a session, below each prefix where it is served. */
  operations: WalkedOperation[];
}

/** Reads the operations that an API publishes. */
export const readOperations = async (client: ApiClient): Promise<ReadDocument> =>
  readDocument((await client.get('/openapi.json')).body);

/**
 * The operations of an API, each with the resources of a tenant. An operation is walked because the document has it. If its
 * path names a resource that no other path names, `test/things.ts` must create one.
 */
export async function walkOperations(client: ApiClient, database: Database): Promise<WalkedDocument> {
  const read = await readOperations(client);
  const things = await createThings(client, database);
  const operations = atEveryPrefix(read.operations.filter((of) => of.needsKey || isOfPeople(of))).map((of) => ({
    ...of,
    ownPath: pathOf(of, things),
    body: exampleBody(of),
  }));
  return { read, things, operations };
}
