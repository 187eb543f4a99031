import { expect, test } from '@jest/globals';
import { queryOf } from './image.ts';

test.each([
  ['https://example.com/cat.png', ''],
  ['https://example.com/cat.png?sandbox:slow=2&x=1#sandbox:fail', 'sandbox:slow=2&x=1'],
  ['https://example.com/?words=sandbox%3Afail+now', 'words=sandbox:fail now'],
  ['https://example.com/?a=%ff%zz&b=%C3%A9', 'a=%ff%zz&b=é'],
  ['no address', ''],
])('the query of %s is %j', (url, query) => {
  expect(queryOf(url)).toBe(query);
});
