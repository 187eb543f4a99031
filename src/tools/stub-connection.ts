import { setTimeout as sleep } from 'node:timers/promises';
import { holdUntilReleased } from '../platform/parts/holds.ts';
import { readSandboxWords, textOfJson } from '../providers/core/sandbox-words.ts';
import { failedResult, type ToolResult } from './core/tool-result.ts';
import type { StubTool, ToolServer } from './servers/server.ts';
import type { JsonObject, ListedTool, ToolConnection } from './tool.ts';

const listed = ({ name, description, input, required = [], readOnly }: StubTool): ListedTool => ({
  tool: name,
  description,
  idempotent: readOnly,
  inputSchema: { type: 'object', properties: input, ...(required.length > 0 && { required: [...required] }) },
});

/**
 * A sandbox server in place of one that needs an account. It answers from its arguments alone; `sandbox:fail` in an
 * argument makes it fail and `sandbox:slow=<seconds>` makes it hang.
 */
export class StubConnection implements ToolConnection {
  readonly isOpen = true;
  readonly #tools: readonly StubTool[];

  constructor({ stubs = [] }: ToolServer) {
    this.#tools = stubs;
  }

  async list(): Promise<ListedTool[]> {
    return this.#tools.map(listed);
  }

  async call(tool: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    const stub = this.#tools.find(({ name }) => name === tool);
    if (!stub) return failedResult(`There is no tool ${tool}.`);
    const missing = stub.required?.find((name) => args[name] === undefined);
    if (missing !== undefined) return failedResult(`The argument ${missing} is required.`);
    const { slowSeconds, hold, failure } = readSandboxWords(textOfJson(args), '');
    await holdUntilReleased(hold, signal);
    if (slowSeconds > 0) await sleep(slowSeconds * 1_000, undefined, { signal });
    if (failure !== undefined) return failedResult('This call contains sandbox:fail.');
    return { text: stub.answer(args), isError: false };
  }

  async close(): Promise<void> {}
}
