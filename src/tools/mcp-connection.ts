import { Client, ProtocolError, type Transport } from '@modelcontextprotocol/client';
import { cleaned } from '../platform/core/clean-text.ts';
import type { ResultPart } from './core/result-text.ts';
import { textOfParts } from './core/result-text.ts';
import { failedResult, type ToolResult } from './core/tool-result.ts';
import { maxDescriptionLength, maxSchemaLength, maxTools } from './limits.ts';
import type { JsonObject, ListedTool, ToolConnection } from './tool.ts';

/** Times are limited by signals; the client's own limit only ends calls whose caller no longer waits. */
const clientTimeoutMs = 120_000;
/** Further pages of a server are not requested: it could send empty ones without end. */
const maxPages = 20;

/** Results are not validated against the server's output schemas: compiling foreign schemas may be costly. */
const noValidation = {
  getValidator: () => (value: unknown) => ({ valid: true, data: value, errorMessage: undefined }),
};

interface Options {
  /** Whether the server may be of the protocol's revision without sessions. */
  mayBeStateless?: boolean;
  /** Rewrites arguments before they are sent. @returns a text when the call is refused */
  prepare?(tool: string, args: JsonObject): Promise<{ args: JsonObject; meta?: JsonObject } | string>;
  /** Rewrites a text of the server. */
  clean?(text: string): string;
  /** Whether the peer of the transport still runs. */
  isAlive?(): boolean;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** @returns undefined for a tool that cannot be offered */
function read(tool: {
  name: string;
  description?: unknown;
  inputSchema: unknown;
  annotations?: unknown;
}): ListedTool | undefined {
  const hints = (tool.annotations ?? {}) as { readOnlyHint?: unknown; idempotentHint?: unknown };
  if (tool.name === '' || tool.name.length > 200 || JSON.stringify(tool.inputSchema).length > maxSchemaLength)
    return undefined;
  return cleaned({
    tool: tool.name,
    description: (isText(tool.description) ? tool.description : '').slice(0, maxDescriptionLength),
    inputSchema: tool.inputSchema as JsonObject,
    idempotent: hints.readOnlyHint === true || hints.idempotentHint === true,
  });
}

/** A server of the Model Context Protocol. */
class McpConnection implements ToolConnection {
  readonly #client: Client;
  readonly #options: Options;
  #isClosed = false;

  constructor(client: Client, options: Options) {
    this.#client = client;
    this.#options = options;
    client.onclose = () => {
      this.#isClosed = true;
    };
  }

  get isOpen(): boolean {
    return !this.#isClosed && this.#options.isAlive?.() !== false;
  }

  /** Only as many as can be offered: further pages are not requested. */
  async list(signal: AbortSignal): Promise<ListedTool[]> {
    const found: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await this.#client.request({ method: 'tools/list', params }, { signal, timeout: clientTimeoutMs });
      found.push(...answer.tools.map(read).filter((tool) => tool !== undefined));
      cursor = answer.nextCursor;
      if (cursor === undefined || found.length >= maxTools) break;
    }
    return found.slice(0, maxTools);
  }

  async call(tool: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    const { prepare, clean = (text) => text } = this.#options;
    const prepared = prepare ? await prepare(tool, args) : { args };
    if (isText(prepared)) return failedResult(prepared);
    const { meta } = prepared as { meta?: JsonObject };
    const params = { name: tool, arguments: prepared.args, ...(meta && { _meta: meta }) };
    try {
      const answer = await this.#client.callTool(params, { signal, timeout: clientTimeoutMs });
      return { text: clean(textOfParts((answer.content ?? []) as ResultPart[])), isError: answer.isError === true };
    } catch (error) {
      // An error answer of the server, such as one about invalid arguments, is for the model to read.
      if (error instanceof ProtocolError) return failedResult(clean(error.message));
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }
}

/** Connects to a server. @throws errors of the transport or the protocol, and then the transport is closed */
export async function connectMcp(
  transport: Transport,
  signal: AbortSignal,
  options: Options = {},
): Promise<ToolConnection> {
  const client = new Client(
    { name: 'atelier', version: '1' },
    {
      capabilities: {},
      jsonSchemaValidator: noValidation as never,
      ...(options.mayBeStateless && { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5_000 } } }),
    },
  );
  try {
    await client.connect(transport, { signal, timeout: clientTimeoutMs });
  } catch (error) {
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
    throw error;
  }
  return new McpConnection(client, options);
}
