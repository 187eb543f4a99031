import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const target = process.argv[2];
if (!target) throw new Error('Usage: node workers/build-bundle.ts FILE');

const workflows = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
const interceptors = fileURLToPath(new URL('../workflows/trace.ts', import.meta.url));

const { code } = await bundleWorkflowCode({
  workflowsPath: workflows,
  workflowInterceptorModules: [interceptors],
  // Evaluated once for a thread, and not once for each workflow that it has in memory. Their modules keep no state of a
  // workflow, which the architecture test checks.
  preloadModules: [workflows, interceptors],
  logger: new DefaultLogger('WARN'),
});
await writeFile(target, code);
