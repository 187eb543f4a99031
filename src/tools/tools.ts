import { unlessAborted } from '../platform/concurrency/deadline.ts';
import { cleanText } from '../platform/core/clean-text.ts';
import type { Scope } from '../platform/database/scope.ts';
import { type FieldError, invalid } from '../platform/errors.ts';
import type { Log } from '../platform/observability/log.ts';
import { SealError, secretsUnreadableMessage } from '../platform/security/crypto.ts';
import { argumentsOf, type CalledTool, calledTool, lostCall } from './called-tool.ts';
import {
  type ConfigurationServices,
  findConfiguration,
  findConfiguredServers,
  keepFunctions,
} from './configurations.ts';
import type { ToolConnections, ToolTarget } from './connections.ts';
import { cutResult } from './core/result-text.ts';
import { isToolServerId, maxServers, type ToolServerId, type ToolServerName } from './core/server-ids.ts';
import { declaredName } from './core/tool-names.ts';
import { failedResult, type ToolResult } from './core/tool-result.ts';
import { maxArgumentsLength, maxTools, type ToolLimits } from './limits.ts';
import { type DeclaredTool, type ToolCall, ToolFailure, ToolServerUnavailable } from './tool.ts';
import type { ToolLocks } from './tool-locks.ts';
import { type ToolSource, ToolSources } from './tool-source.ts';

/** A call of a tool of a server. */
interface ServerCall extends ToolCall {
  server: ToolServerId;
}

interface ToolsOptions extends ConfigurationServices {
  connections: ToolConnections;
  locks: ToolLocks;
  limits: ToolLimits;
  log: Log;
}

/** Servers as a request names them. */
interface NamedServers {
  serverIds: readonly string[];
  /** The path of the list in the request, for errors. */
  path: string;
}

function resultOf<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

const inSeconds = (ms: number) => `${ms / 1_000} s`;

/** The tools that models may use: which there are for a tenant, and calls of them. */
export class Tools {
  readonly #options: ToolsOptions;
  readonly #sources = new ToolSources();

  constructor(options: ToolsOptions) {
    this.#options = options;
  }

  /** Adds the tools of a feature, while the parts of a process open. */
  addSource(source: ToolSource): void {
    this.#sources.add(source);
  }

  /** The permissions that a caller needs besides to name these. */
  scopesOf(serverIds: readonly string[]): string[] {
    return this.#sources.scopesOf(serverIds);
  }

  /**
   * Checks the servers that a request names.
   * @param path of the list in the request, for errors
   * @returns each once, in the given order
   * @throws AppError validation_error with the path `<path>.<i>` for one that is no tool server or is not configured
   */
  async check(scope: Scope, serverIds: readonly string[], path = 'mcpServers'): Promise<ToolServerName[]> {
    const problems = await this.findProblems(scope, [{ serverIds, path }]);
    if (problems.length > 0) throw invalid(problems);
    return [...new Set(serverIds)].filter((id) => this.#isKnown(id));
  }

  /** The same for several lists of servers, with one read of the configurations. */
  async findProblems(scope: Scope, lists: readonly NamedServers[]): Promise<FieldError[]> {
    const unknown = lists.flatMap(({ serverIds, path }) => {
      if (serverIds.length > maxServers) return [{ path, message: `Expected at most ${maxServers} tool servers.` }];
      return serverIds.flatMap((id, index) =>
        this.#isKnown(id) ? [] : [{ path: `${path}.${index}`, message: `${id} is not a tool server.` }],
      );
    });
    const named = lists.flatMap(({ serverIds }) => serverIds);
    if (unknown.length > 0 || named.length === 0) return unknown;
    const problems = await this.#problemsOf(scope, named);
    return lists.flatMap(({ serverIds, path }) =>
      serverIds.flatMap((id, index) => {
        const message = problems.get(id);
        return message === undefined ? [] : [{ path: `${path}.${index}`, message }];
      }),
    );
  }

  #isKnown(name: string): name is ToolServerName {
    return isToolServerId(name) || this.#sources.has(name);
  }

  /** Why this tenant cannot use known servers, by their names. */
  async #problemsOf(scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    const problems = await this.#sources.problemsOf(scope, names);
    const servers = names.filter(isToolServerId);
    if (servers.length === 0 || scope.tenant.environment === 'test') return problems;
    const configured = new Set<string>(await findConfiguredServers(scope));
    for (const id of servers) if (!configured.has(id)) problems.set(id, `${id} is not configured.`);
    return problems;
  }

  /**
   * The tools of these servers, in their order, 64 at most. Their names are unique: of two tools with one name the first
   * is declared.
   * @param serverIds as `check` gave them
   * @throws ToolServerUnavailable when one cannot be asked; the reason of `signal`; SealError
   */
  async list(scope: Scope, serverIds: readonly ToolServerName[], signal: AbortSignal): Promise<DeclaredTool[]> {
    const lists = await Promise.all(
      serverIds.map((server) =>
        isToolServerId(server) ? this.#listOf(scope, server, signal) : this.#listOfSource(server),
      ),
    );
    const declared = new Map<string, DeclaredTool>();
    for (const tool of lists.flat()) if (!declared.has(tool.name)) declared.set(tool.name, tool);
    return [...declared.values()].slice(0, maxTools);
  }

  /**
   * Calls a tool after the calls before it: calls of one server and tenant run one at a time, across all processes.
   * There is one attempt. A failure on the side of the tool is a result that says so.
   * @returns at most 32 KiB of text, without paths of the machine, and what the caller writes to the audit log in the
   *   transaction that records the result: each call is in it
   * @throws the reason of `signal`; errors of the database
   */
  async call(scope: Scope, call: ToolCall, signal: AbortSignal): Promise<CalledTool> {
    const begun = performance.now();
    const given = argumentsOf(call);
    const result = await this.#attempt(scope, call, given, signal);
    if (result === 'unknown') return lostCall(scope, call);
    const cut = { ...result, text: cutResult(cleanText(result.text)) };
    return calledTool(scope, call, { result: cut, durationMs: performance.now() - begun }, given);
  }

  /** @returns undefined where a live server is not configured. @throws SealError */
  async #targetOf(scope: Scope, server: ToolServerId): Promise<ToolTarget | undefined> {
    const { tenant, tenantKey, environmentKey } = scope;
    const target = { tenant, tenantKey, environmentKey, server };
    if (tenant.environment === 'test') return Object.assign(target, { configuration: undefined });
    const configuration = await findConfiguration(this.#options, scope, server);
    return configuration && Object.assign(target, { configuration });
  }

  /** Whether this process lacks the key of a configuration's secrets: the log says which. */
  #isUnreadable(error: unknown, { tenant, correlationId }: Scope, server: ToolServerId): boolean {
    if (!(error instanceof SealError)) return false;
    this.#options.log.error(
      { err: error, server, correlationId, ...tenant },
      'secrets of a tool server cannot be decrypted',
    );
    return true;
  }

  async #listOf(scope: Scope, server: ToolServerId, signal: AbortSignal): Promise<DeclaredTool[]> {
    const { connections, limits, log } = this.#options;
    const target = await this.#targetOf(scope, server).catch((error) => {
      throw this.#isUnreadable(error, scope, server)
        ? new ToolServerUnavailable(server, secretsUnreadableMessage)
        : error;
    });
    if (!target) throw new ToolServerUnavailable(server);
    try {
      const asked = AbortSignal.any([signal, AbortSignal.timeout(limits.listMs)]);
      const tools = await connections.list(target, asked);
      const { configuration } = target;
      if (configuration)
        await keepFunctions(
          scope,
          configuration,
          tools.map(({ tool }) => tool),
        );
      return tools.map((tool) => ({ ...tool, server, name: declaredName(server, tool.tool) }));
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error, server }, 'the tools of a server could not be listed');
      throw new ToolServerUnavailable(server);
    }
  }

  #listOfSource(server: ToolServerName): DeclaredTool[] {
    const found = this.#sources.find(server);
    if (!found) return [];
    return found.source.list(found.id).map((tool) => ({ ...tool, server, name: declaredName(server, tool.tool) }));
  }

  async #attempt(scope: Scope, call: ToolCall, given: string, signal: AbortSignal): Promise<ToolResult | 'unknown'> {
    if (Buffer.byteLength(given) > maxArgumentsLength) {
      return failedResult(`The arguments have more than ${maxArgumentsLength / 1_024} KiB.`);
    }
    const { server } = call;
    if (isToolServerId(server)) return this.#askServer(scope, { ...call, server }, signal);
    const found = this.#sources.find(server);
    if (!found) return failedResult(`The tools of ${server} are not available.`);
    const { tool, args, key, isTrial = false } = call;
    const { callMs } = this.#options.limits;
    return found.source.call(scope, { id: found.id, tool, args, key, isTrial, signal, callMs });
  }

  async #askServer(scope: Scope, call: ServerCall, signal: AbortSignal): Promise<ToolResult> {
    const { locks, limits } = this.#options;
    // One round trip each, at the same time.
    const reading = this.#targetOf(scope, call.server);
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(limits.lockWaitMs)]);
    const [found, taken] = await Promise.allSettled([reading, locks.take(scope, call.server, waiting)]);
    const lock = taken.status === 'fulfilled' ? taken.value : undefined;
    try {
      if (found.status === 'rejected' && this.#isUnreadable(found.reason, scope, call.server)) {
        return failedResult(`The tool server ${call.server} is not available. ${secretsUnreadableMessage}`);
      }
      const target = resultOf(found);
      if (!target) return failedResult(`The tool server ${call.server} is not configured.`);
      if (resultOf(taken)) return await this.#ask(target, call, signal, lock!.lost);
      signal.throwIfAborted();
      return failedResult(`The tool did not answer in ${inSeconds(limits.lockWaitMs)}.`);
    } finally {
      // The next caller waits for it; this caller has its result.
      void lock?.end();
    }
  }

  async #ask(target: ToolTarget, { tool, args, callId }: ToolCall, signal: AbortSignal, lost: AbortSignal) {
    const { connections, limits, log } = this.#options;
    const late = AbortSignal.timeout(limits.callMs);
    const asked = AbortSignal.any([signal, late, lost]);
    try {
      return await connections.use(target, asked, (connection) =>
        unlessAborted(connection.call(tool, args, asked), asked),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) return failedResult(`The tool did not answer in ${inSeconds(limits.callMs)}.`);
      if (error instanceof ToolFailure) return failedResult(error.message);
      log.warn({ err: error, server: target.server, callId }, 'a call of a tool failed');
      return failedResult('The tool server ended or closed the connection before it answered.');
    }
  }
}
