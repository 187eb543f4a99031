// Before the product is loaded, which takes a second. The first process of a container ignores a signal without a handler.
import './stop-signals.ts';

await import('./start-process.ts');
