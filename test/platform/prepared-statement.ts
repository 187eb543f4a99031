import type { Client, Connection, Submittable } from 'pg';

export interface PreparedStatement {
  /** Object ids of the types of its parameters. */
  parameters: number[];
  columns: { name: string; type: number }[];
}

interface Description {
  fields: { name: string; dataTypeID: number }[];
}

/** Has PostgreSQL parse and describe a statement, without running it. */
class Describe implements Submittable {
  readonly #text: string;
  readonly #result: PromiseWithResolvers<PreparedStatement> = Promise.withResolvers();
  readonly #prepared: PreparedStatement = { parameters: [], columns: [] };

  constructor(text: string) {
    this.#text = text;
  }

  get result(): Promise<PreparedStatement> {
    return this.#result.promise;
  }

  submit(connection: Connection): void {
    connection.once('parameterDescription', ({ dataTypeIDs }: { dataTypeIDs: number[] }) => {
      this.#prepared.parameters = dataTypeIDs;
    });
    connection.parse({ name: '', text: this.#text, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  handleRowDescription({ fields }: Description): void {
    this.#prepared.columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
  }

  handleError(error: Error): void {
    this.#result.reject(error);
  }

  handleReadyForQuery(): void {
    this.#result.resolve(this.#prepared);
  }
}

/** @throws DatabaseError when PostgreSQL cannot prepare it */
export function prepare(client: Client, text: string): Promise<PreparedStatement> {
  const describe = new Describe(text);
  client.query(describe);
  return describe.result;
}
