// Checks every regular expression of the product again, and records those that are linear: npm run expressions:record
import { expressionsOf, findProblem, writeRecord, written } from './expressions.ts';
import { readSources } from './source-graph.ts';

const expressions = expressionsOf(readSources().filter(({ isTest }) => !isTest));
const linear = new Set<string>();
const refused = new Set<string>();
for (const expression of expressions) {
  const text = written(expression);
  if (linear.has(text) || refused.has(text)) continue;
  const problem = findProblem(expression);
  if (problem === undefined) linear.add(text);
  else {
    refused.add(text);
    console.error(`${expression.path}:${expression.line}: ${text} is ${problem}`);
  }
}
writeRecord(linear);
process.exitCode = refused.size > 0 ? 1 : 0;
