// Which of the two a page is.

const key = document.getElementById("puzzle-key");
if (key) puzzles(JSON.parse(key.textContent));
else course();
