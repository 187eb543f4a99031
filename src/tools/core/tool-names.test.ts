import { expect, test } from '@jest/globals';
import { cutResult, maxResultLength, textOfParts } from './result-text.ts';
import { declaredName, serverOfName } from './tool-names.ts';

test('a declared name belongs to the longest server that it begins with, and has no other characters', () => {
  expect(declaredName('web-search', 'search')).toBe('web-search_search');
  expect(declaredName('github', 'a b/ü.c')).toBe('github_a_b___c');
  expect(declaredName('memory', 'x'.repeat(100))).toHaveLength(64);
  expect(serverOfName('google-drive_read_file_content')).toBe('google-drive');
  for (const name of ['githubber_x', 'github', '__proto__']) expect(serverOfName(name)).toBeUndefined();
});

test('a result is one text, in which what is no text is named', () => {
  const parts = [
    { type: 'text', text: 'a' },
    { type: 'image', mimeType: 'image/png', data: Buffer.alloc(10).toString('base64') },
    { type: 'resource', resource: { uri: 'x:y', mimeType: 'application/pdf', blob: 'AAAA' } },
    { type: 'resource', resource: { uri: 'x:y', text: 'b' } },
    { type: 'resource_link', uri: 'https://example.com/' },
    { type: 'unknown' },
  ];
  expect(textOfParts(parts)).toBe(
    'a\n[image/png, 10 bytes]\n[application/pdf, 3 bytes]\nb\n[https://example.com/]\n[application/octet-stream, 0 bytes]',
  );
});

test.each(['a', 'ä', '€', '😀'])('a long result of %s is cut to 32 KiB and stays valid text', (letter) => {
  const fits = letter.repeat(Math.floor(maxResultLength / Buffer.byteLength(letter)));
  expect(cutResult(fits)).toBe(fits);
  const cut = cutResult(fits + letter.repeat(10));
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxResultLength);
  expect(cut).toMatch(/\[truncated, \d+ bytes in all\]$/);
  expect(cut).not.toContain('\ufffd');
});
