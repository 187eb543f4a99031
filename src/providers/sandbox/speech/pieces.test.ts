import { expect, test } from '@jest/globals';
import { runFlite } from './flite.ts';
import { piecesOf, pronounceable } from './pieces.ts';

test('a text is parted behind sentences, else behind words, else anywhere, and none of it is lost', () => {
  const texts = ['', 'Short.', `${'x'.repeat(600)}. ${'y'.repeat(600)}`, 'word '.repeat(500), 'x'.repeat(2_500)];
  for (const text of texts) {
    expect(piecesOf(text).join('')).toBe(text);
    for (const piece of piecesOf(text)) expect(piece.length).toBeLessThanOrEqual(1_000);
  }
  expect(piecesOf(texts[2]!)[0]).toHaveLength(602 - 1);
  expect(piecesOf(texts[3]!)[0]).toMatch(/word $/);
});

test('characters without a sound are spaces, and those that are several are counted', () => {
  expect(pronounceable('Zwölf “Straßen” 🥊 ’tis\0')).toBe("Zwolf  Strassen     'tis ");
  expect(pronounceable('⑴'.repeat(4_096))).toHaveLength(3 * 4_096);
});

test('letters of other scripts are written in Latin ones, and no word is too long for the synthesizer', () => {
  const texts = ['你好,世界', 'Привет мир', 'こんにちは', '안녕하세요', 'नमस्ते', 'καλημέρα'];
  for (const text of texts) expect(pronounceable(text)).toMatch(/^[A-Za-z, ]{4,}$/);
  expect(pronounceable('你好')).toBe('Ni Hao ');
  expect(
    pronounceable('한'.repeat(100))
      .split(' ')
      .every((word) => word.length <= 24),
  ).toBe(true);
});

test('signs that would be named one by one are left out, and the synthesizer gets no long word of marks', async () => {
  expect(pronounceable('**C++** <b> &&&& 100%%% $5')).toBe('  C++    b  && 100%% $5');
  for (const text of ['.', ',;', '!?)', "'"].map((marks) => marks.repeat(1_000))) {
    expect(pronounceable(text).replaceAll(' ', '')).toBe(text.slice(0, 4_096).replaceAll(' ', ''));
    await runFlite(['-voice', 'kal16', '-t', pronounceable(text).slice(0, 1_000)]);
  }
});
