import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Scope } from '../../src/platform/database/scope.ts';
import type { ToolResult } from '../../src/tools/core/tool-result.ts';
import { type FakeMcpServer, fakeMcpServer } from '../fakes/mcp-server.ts';
import { openToolScene, type ToolProcess, type ToolScene } from './tool-scene.ts';

/** The scene of a file's tests, in which `github` of a live tenant is a fake. */
export interface FakeGithub {
  scene: ToolScene;
  /** A process that uses tools. */
  one: ToolProcess;
  /** The tenant of the last `begin`. */
  scope: Scope;
  fake: FakeMcpServer;
  /** A new tenant, and a fake of its own. */
  begin(given?: Parameters<typeof fakeMcpServer>[0]): Promise<void>;
  list(): ReturnType<ToolProcess['tools']['list']>;
  /** Calls its tool `echo`. */
  echo(args?: Record<string, unknown>): Promise<ToolResult>;
}

/** The results for models if a server ended, or gave an unreadable answer. */
export const broken = { text: 'The tool server ended or closed the connection before it answered.', isError: true };

/** Opens the scene before the tests of a file and closes it after them. */
export function fakeGithubOfTests(): FakeGithub {
  const github = {
    async begin(given = {}) {
      github.fake = await fakeMcpServer(given);
      github.scope = await github.scene.newTenant('live');
      const configuration = { url: github.fake.url, secrets: { token: 'secret-1' } };
      await github.scene.configure(github.scope, 'github', configuration);
    },
    list: () => github.one.tools.list(github.scope, ['github'], AbortSignal.timeout(60_000)),
    echo: (args) => github.one.call(github.scope, 'github_echo', args),
  } as FakeGithub;
  beforeAll(async () => {
    github.scene = await openToolScene();
    github.one = github.scene.open();
  });
  afterEach(() => github.fake?.close());
  afterAll(() => github.scene.close());
  return github;
}
