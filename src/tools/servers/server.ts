import type { ToolServerId } from '../core/server-ids.ts';
import type { JsonObject } from '../tool.ts';

/** A value or a secret of a server's configuration. */
export interface Field {
  description: string;
  /** Required unless a `url` replaces the server's own address. */
  required?: boolean;
  choices?: readonly string[];
  pattern?: RegExp;
  /** Most characters. 4,096 by default. */
  maxLength?: number;
  /** A value that decides where secrets are sent: a change of it must include every secret again. */
  decidesAddress?: boolean;
}

/** A function of a server in the sandbox. */
export interface StubTool {
  name: string;
  description: string;
  /** Properties of the input schema. */
  input: Readonly<Record<string, { type: 'string' | 'integer' | 'array' | 'object'; description?: string }>>;
  required?: readonly string[];
  readOnly: boolean;
  /** A pure function of the arguments. */
  answer(args: JsonObject): string;
}

export type Values = Readonly<Record<string, string>>;

/** How a server is reached in the live environment. */
type LiveServer =
  /** A process of this machine, in a folder of the tenant's own. The sandbox runs it too. */
  | { kind: 'local'; program: 'filesystem' | 'memory' | 'sqlite' }
  /** A server of the Model Context Protocol over streamable HTTP. */
  | {
      kind: 'remote';
      /** Builds the address from the organization's values; undefined where only the organization knows the address. */
      address?(values: Values): string;
      /** Which secret is sent as a bearer token, or what else signs requests to its own address. */
      authorize: { bearer: string } | 'aws' | 'google';
    }
  /** A client of ours. With a `url` it is a remote server. */
  | { kind: 'own'; client: 'postgres' | 'web-search' };

/** One entry of the catalogue: everything that is special about a server. */
export interface ToolServer {
  id: ToolServerId;
  name: string;
  description: string;
  values?: Readonly<Record<string, Field>>;
  secrets?: Readonly<Record<string, Field>>;
  /** Whether the organization may give the address of a server of its own, or has to. */
  url: 'none' | 'optional' | 'required';
  live: LiveServer;
  /** Names of the functions of a server whose functions are always the same. */
  functions?: readonly string[];
  /** The replacement in the sandbox; none for servers that the sandbox runs. */
  stubs?: readonly StubTool[];
}
