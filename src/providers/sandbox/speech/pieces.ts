import anyAscii from 'any-ascii';
import { speechLimits } from '../../core/speech/voices.ts';

/** The synthesizer takes a text as a whole; of more it would need much memory. */
const maxPieceLength = 1_000;

/** A place to part a text, as late as possible: behind a sentence, else behind a word, else anywhere. */
function endOfPiece(text: string): number {
  if (text.length <= maxPieceLength) return text.length;
  const head = text.slice(0, maxPieceLength);
  const sentence = Math.max(...['. ', '! ', '? ', '\n'].map((end) => head.lastIndexOf(end)));
  const word = head.lastIndexOf(' ');
  const found = sentence > maxPieceLength / 2 ? sentence : word > maxPieceLength / 2 ? word : maxPieceLength - 1;
  return found + 1;
}

/** A text in pieces of at most 1,000 characters. Joined they are the text. */
export function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = endOfPiece(rest);
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return pieces;
}

/** Some characters represent several, as letters of other scripts do in Latin letters. */
const maxTextLength = 3 * speechLimits.codePoints;

/** Signs in a row have no more sound than this; the synthesizer would name each of them, which takes a second. */
const maxSigns = 2;
/** It goes wrong on longer words without a letter or a digit. */
const maxMarks = 100;

/** A letter of another script in Latin ones. Characters of Chinese are words. */
const inLatin = (letter: string): string =>
  /\p{Script=Han}/u.test(letter) ? `${anyAscii(letter)} ` : anyAscii(letter);

/**
 * The text as the synthesizer can read it: it knows ASCII, so accents are removed, letters of other scripts are written
 * in Latin ones, and characters without a sound become spaces. So do signs that are not spoken.
 */
export const pronounceable = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll('ß', 'ss')
    // Hangul and others are taken apart by the normal form above.
    .normalize('NFC')
    .replace(/[^\x20-\x7e\n]/gu, (character) => (/\p{L}/u.test(character) ? inLatin(character) : character))
    // The synthesizer takes words of some length, and scripts without spaces have none.
    .replaceAll(/[A-Za-z]{24}/g, '$& ')
    .replace(/[^\x20-\x7e\n]|[*^_~|\\<>[\]{}`]/g, ' ')
    .replaceAll(new RegExp(`([#$%&+=@]{${maxSigns}})[#$%&+=@]+`, 'g'), '$1')
    .replaceAll(new RegExp(`[^\\sA-Za-z0-9]{${maxMarks}}`, 'g'), '$& ')
    .slice(0, maxTextLength);
