import type { Scope } from '../platform/database/scope.ts';
import type { SourceToolName } from './core/server-ids.ts';
import type { ToolResult } from './core/tool-result.ts';
import type { JsonObject, ListedTool } from './tool.ts';

export interface SourceCall {
  /** Behind the prefix of the source. */
  id: string;
  tool: string;
  args: JsonObject;
  /** One for each call. It stays the same when an attempt at it is repeated after a crash. */
  key: string;
  /** Whether a test run calls it: then nothing is stored or sent. */
  isTrial: boolean;
  /** Aborted when the caller no longer waits for the result. */
  signal: AbortSignal;
  /** Time limit of the call. */
  callMs: number;
}

/** Tools that a feature brings. Requests and steps name them as `<prefix>:<id>`. */
export interface ToolSource {
  prefix: string;
  /** The permission that naming one needs besides. */
  scope: string;
  /** Problems of ids, by id: unknown ids, and ids that this tenant cannot use. */
  problemsOf(scope: Scope, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The tools of an id, none where there is no such one. */
  list(id: string): ListedTool[];
  /**
   * Calls a tool, once for each key. A failure on the side of the tool is a result that says so.
   * @returns `unknown` where it is not known whether it was performed
   * @throws the reason of `signal`; errors of our own
   */
  call(scope: Scope, call: SourceCall): Promise<ToolResult | 'unknown'>;
}

/** The sources of one process, by their prefixes. */
export class ToolSources {
  readonly #byPrefix = new Map<string, ToolSource>();

  /** Called while the parts of a process open. */
  add(source: ToolSource): void {
    this.#byPrefix.set(source.prefix, source);
  }

  /** @returns undefined where no source has the prefix of the name */
  find(name: string): { source: ToolSource; id: string } | undefined {
    const at = name.indexOf(':');
    const source = at < 0 ? undefined : this.#byPrefix.get(name.slice(0, at));
    return source && { source, id: name.slice(at + 1) };
  }

  has(name: string): name is SourceToolName {
    return this.find(name) !== undefined;
  }

  /** Problems of names, by name. Each source is asked once. */
  async problemsOf(scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    const problems = new Map<string, string>();
    for (const source of this.#byPrefix.values()) {
      const ids = names.flatMap((name) => {
        const found = this.find(name);
        return found?.source === source ? [found.id] : [];
      });
      if (ids.length === 0) continue;
      for (const [id, problem] of await source.problemsOf(scope, [...new Set(ids)])) {
        problems.set(`${source.prefix}:${id}`, problem);
      }
    }
    return problems;
  }

  /** The permissions that naming these needs besides. */
  scopesOf(names: readonly string[]): string[] {
    return [...new Set(names.flatMap((name) => this.find(name)?.source.scope ?? []))];
  }
}
