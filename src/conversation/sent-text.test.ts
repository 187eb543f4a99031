import { describe, expect, test } from '@jest/globals';
import { SentText } from './sent-text.ts';

const reply = 'One, two, three 🚲, four.';

/** A reply in pieces, as an attempt of a model writes it. */
function* pieces(text: string, attempt = 1, size = 3) {
  for (let at = 0; at < text.length; at += size) yield { attempt, at, text: text.slice(at, at + size) };
}

describe('what a reader receives', () => {
  test('joined is the reply, however it is cut and wherever the reader looks', () => {
    for (const size of [1, 2, 7, 100]) {
      const sent = new SentText();
      let text = '';
      for (const piece of pieces(reply, 1, size)) {
        sent.accept(piece);
        if (piece.at % 2 === 0) text += sent.take();
      }
      expect(text + sent.takeRest(reply)).toBe(reply);
    }
  });

  test('has no gap and nothing twice where pieces are lost or come again', () => {
    const all = [...pieces(reply)];
    const sent = new SentText();
    for (const piece of [...all.slice(0, 3), ...all.slice(1, 3), ...all.slice(4)]) sent.accept(piece);
    const text = sent.take();
    expect(text).toBe(reply.slice(0, 9));
    expect(text + sent.takeRest(reply)).toBe(reply);
  });

  test('goes on where another attempt writes the same, and is contradicted where it writes something else', () => {
    const same = new SentText();
    for (const piece of [...pieces(reply)].slice(0, 4)) same.accept(piece);
    let text = same.take();
    for (const piece of pieces(reply, 2, 5)) same.accept(piece);
    // Late, of the attempt before.
    same.accept({ attempt: 1, at: 12, text: 'something' });
    text += same.take();
    expect([text, same.isContradicted]).toEqual([reply, false]);

    const other = new SentText();
    for (const piece of [...pieces(reply)].slice(0, 4)) other.accept(piece);
    for (const piece of pieces('One, two; and so on', 2)) other.accept(piece);
    expect(other.isContradicted).toBe(true);
    const lost = new SentText();
    for (const piece of [...pieces(reply)].slice(0, 4)) lost.accept(piece);
    expect([lost.takeRest('One, two; and so on'), lost.takeRest('One')]).toEqual([undefined, undefined]);
  });

  test('does not grow while a reader is slow, and is complete in the end', () => {
    const long = 'x'.repeat(100_000);
    const sent = new SentText();
    for (const piece of pieces(long, 1, 1_000)) sent.accept(piece);
    const waiting = sent.take();
    expect(waiting.length).toBeLessThanOrEqual(64 * 1024);
    expect(waiting + sent.takeRest(long)).toBe(long);
  });
});
