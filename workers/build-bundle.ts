import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const target = process.argv[2];
if (!target) throw new Error('Usage: node workers/build-bundle.ts FILE');

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
  workflowInterceptorModules: [fileURLToPath(new URL('../workflows/trace.ts', import.meta.url))],
  logger: new DefaultLogger('WARN'),
});
await writeFile(target, code);
