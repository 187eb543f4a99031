import { TestWorkflowEnvironment } from '@temporalio/testing';

/** Child process of `temporal-install.ts`: lets the SDK download the CLI (argument 2, "v1.8.2") into a folder (argument 1). */
const [downloadDir, version] = process.argv.slice(2);
if (downloadDir === undefined || version === undefined) throw new Error('usage: temporal-download.ts FOLDER VERSION');
try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir, version } },
  });
  await environment.teardown();
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
