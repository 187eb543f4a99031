/** Entry point of a product process that gets SIGTERM as soon as it handles signals. */
process.on('newListener', (event) => {
  if (event === 'SIGTERM') setImmediate(() => process.kill(process.pid, 'SIGTERM'));
});
await import('../../workers/main.ts');
