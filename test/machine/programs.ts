import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';

/** What these tests need from the machine: a program by its path, and the Debian package that has it. */
const programs = [
  { path: '/usr/bin/redis-server', debianPackage: 'redis-server' },
  { path: '/usr/bin/chromium', debianPackage: 'chromium' },
  { path: '/usr/bin/promtool', debianPackage: 'prometheus' },
  { path: '/usr/sbin/nginx', debianPackage: 'nginx-light' },
  { path: '/usr/bin/python3', debianPackage: 'python3-venv' },
];

const missing = programs.filter(({ path }) => {
  try {
    accessSync(path, constants.X_OK);
    return false;
  } catch {
    return true;
  }
});
// Builds the S3 server of tools/s3.
if (spawnSync('go', ['version']).status !== 0) missing.push({ path: 'go', debianPackage: 'golang' });
if (missing.length > 0) {
  console.error('These programs are missing on this machine:');
  for (const { path, debianPackage } of missing) console.error(`  ${path} (Debian package ${debianPackage})`);
  process.exit(1);
}
