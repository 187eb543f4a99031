// Checks the regular expressions of the product that are not in the record yet, adds those that are linear, and drops
// those that are gone: npm run expressions:record
import { expressionsOf, findProblem, readRecord, writeRecord, written } from './expressions.ts';
import { readSources } from './source-graph.ts';

// A verdict can need a minute of search, and a slow machine may not reach it again. So a verdict that was found stays.
const known = readRecord();
const linear = new Set<string>();
const refused = new Set<string>();
for (const expression of expressionsOf(readSources().filter(({ isTest }) => !isTest))) {
  const text = written(expression);
  if (linear.has(text) || refused.has(text)) continue;
  const problem = known.has(text) ? undefined : findProblem(expression);
  if (problem === undefined) linear.add(text);
  else {
    refused.add(text);
    console.error(`${expression.path}:${expression.line}: ${text} is ${problem}`);
  }
}
writeRecord(linear);
process.exitCode = refused.size > 0 ? 1 : 0;
